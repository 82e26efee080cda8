"""Extreme values have an answer or one clear error: no internal exception crosses a public function."""

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from ellzero import certificates
from ellzero.certificates import Discrete, EllzeroError, Votes

TINY = Fraction(1, 10**5_000)
SCALES = ["1e-4000", "2e-7", "0.5", "1e4000", TINY, 1 / TINY]
TOPS = [0, "1/2", Fraction(1, 2) + TINY, "0.75", 1 - Fraction(1, 10**300), 1 - TINY, 1]
FAILURES: list[str | Fraction] = [TINY, "1e-300", "0.5", 1 - Fraction(1, 10**30)]
NOISES = [
    Discrete(1, "0.8"),
    Discrete(255, "1/256"),
    Discrete(10**8, "1/1000000007"),
    Discrete(1, "1/9223372036854775807"),
]
VOTES = [Votes(count, n, failure) for count, n in ((0, 1), (1, 1), (3, 8), (10**8, 10**8)) for failure in FAILURES]
RADII = [0, 1, 40, 10**14]

CALLS: dict[Callable[..., object], list[list[Any]]] = {
    certificates.gaussian_l2_radius: [SCALES, TOPS],
    certificates.gaussian_l0_radius: [SCALES, TOPS, [1, 2**31 - 1]],
    certificates.gaussian_l0_threshold: [SCALES, RADII, [1, 20, 1_000]],
    certificates.sigma_for_alpha: [[*TOPS, 1e-300]],
    certificates.alpha_for_sigma: [SCALES],
    certificates.uniform_l1_radius: [SCALES, TOPS],
    certificates.uniform_linf_radius: [SCALES, TOPS, [1, 2**31 - 1]],
    certificates.saturation_bound: [NOISES, [1, 1_000]],
    certificates.min_p: [NOISES, [0, 1, 40]],
    certificates.rho: [NOISES, [0, 1, 40], TOPS],
    certificates.rho_inverse: [NOISES, [0, 1, 40], TOPS],
    certificates.radius: [NOISES, TOPS, [1, 40], [None, TINY, "0.1", 1]],
    certificates.certify: [NOISES, TOPS, [1, 40]],
    certificates.lower_bound: [VOTES],
    certificates.upper_bound: [VOTES],
    certificates.anytime_lower_bound: [VOTES],
    certificates.anytime_radius: [NOISES, VOTES, [1, 40]],
    certificates.radius_from_votes: [NOISES, VOTES, [1, 40]],
    certificates.min_count: [NOISES, [0, 1, 40], [1, 10**8], FAILURES],
    certificates.outvotes: [[-1, 0, 10**8, 0.5], [-1, 0, 10**8], FAILURES],
    certificates.bounds_from_counts: [[[], [1, -1], [5, 5], [10**8, 0]], [0, 2], [1, 10**8], FAILURES],
}


@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_extreme_values_have_an_answer_or_one_clear_error(function: Callable[..., object]) -> None:
    for arguments in product(*CALLS[function]):
        with suppress(EllzeroError):
            function(*arguments)
