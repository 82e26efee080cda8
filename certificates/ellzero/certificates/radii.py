"""From probabilities to a certified radius: the one-class rule, the two-class rule, and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import erfc, sqrt
from statistics import NormalDist
from sys import float_info
from typing import TypeAlias

from ellzero.certificates import recurrence
from ellzero.certificates._balls import Undecided, precision, sign
from ellzero.certificates.budget_thresholds import rho
from ellzero.certificates.exact_thresholds import radius_bound, thresholds
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.rounding import ExceedsQuery
from ellzero.certificates.search import last_true_near
from ellzero.certificates.single_threshold import rho_ball
from ellzero.core.numbers import RationalLike, read_dimension, read_probability

# Wraps an iteration that may be long; `iter` does nothing more.
Watch: TypeAlias = Callable[[Iterable[bool]], Iterable[bool]]

_HALF = Fraction(1, 2)
_EXACT_BITS = 4_096
_TINY = 1e-300  # a probability whose quantile and whose mean with others are safe in doubles


@dataclass(frozen=True)
class Certificate:
    """A certified radius and its reason. If ``radius`` is None, not even r = 0 is certified: abstain.

    p exceeds τ_radius but not τ_{radius+1}. ``threshold`` and ``next_threshold`` are their ceilings (the latter None at
    radius d, where no more coordinates can change). p exceeds τ_radius by at least ``margin``, its distance above the
    ceiling, or 0. At p = 1 no threshold decides, and all three are None.
    """

    noise: Discrete
    p: Fraction
    d: int
    radius: int | None
    threshold: Decimal | None
    next_threshold: Decimal | None
    margin: Fraction | None


def radius(
    noise: Discrete, p: RationalLike, d: int, p_b: RationalLike | None = None, *, watch: Watch = iter
) -> int | None:
    """The largest r ≤ d such that every x̄ with ‖x−x̄‖₀ ≤ r gets the same answer as x; None to abstain.

    ``p`` is a lower bound on the probability of the top class at x. With ``p`` alone, the answer is the largest r with
    p > τ_r, and p ≤ 1/2 abstains. With ``p_b``, an upper bound on the probability of *every* other class, the condition
    is ρ_r(p) > 1 − ρ_r(1−p_b) with p_b := min(p_b, 1−p); then p may be below 1/2, and p ≤ p_b abstains. Both are exact.

    A float counts as its exact binary value: 0.9 is a little more than "0.9" and certifies more where a threshold is
    9/10. Bounds that ellzero computes as floats are rounded to the safe side; others, such as 1 − 1e-9, may have been
    rounded up: write them as text, Decimal or Fraction.

    Takes about 5 µs per certified radius; ``watch`` may wrap the iteration over radii, to show progress.

    >>> radius(Discrete(255, "0.2"), "0.99", 150528)
    3
    """
    top = read_probability(p, "p")
    d = read_dimension(d)
    if p_b is None:
        return _one_class(noise, top, d, watch)
    return _two_class(noise, top, min(read_probability(p_b, "p_b"), 1 - top), d, watch)


def certify(noise: Discrete, p: RationalLike, d: int, digits: int = 20, *, watch: Watch = iter) -> Certificate:
    """The one-class `radius` together with the thresholds it lies between."""
    exact_p = read_probability(p, "p")
    certified = radius(noise, exact_p, d, watch=watch)
    if exact_p == 1:
        return Certificate(noise, exact_p, d, certified, None, None, None)
    if certified is None:
        return Certificate(noise, exact_p, d, None, None, thresholds(noise, [0], digits)[0], None)
    around = thresholds(noise, [certified, certified + 1], digits)
    return Certificate(
        noise,
        exact_p,
        d,
        certified,
        around[0],
        around[1] if certified < d else None,
        max(exact_p - Fraction(around[0]), Fraction(0)),
    )


def certifies(noise: Discrete, r: int, p_a: Fraction, p_b: Fraction) -> bool:
    """The two-class condition at exactly r: ρ_r(p_A) > 1 − ρ_r(1−p_B), for 0 < p_A, p_B < 1. Exact."""
    if r * noise.weights.z.bit_length() > _EXACT_BITS:
        fine = p_b.denominator.bit_length() - p_b.numerator.bit_length()  # p_B, the smallest number here, is ~2^-fine
        for bits in (128 + fine, 512 + fine):
            try:
                with precision(bits):
                    return sign(rho_ball(noise, r, p_a, bits) + rho_ball(noise, r, 1 - p_b, bits) - 1) > 0
            except Undecided:
                continue
    return rho(noise, r, p_a) > 1 - rho(noise, r, 1 - p_b)


def _one_class(noise: Discrete, p: Fraction, d: int, watch: Watch) -> int | None:
    if p <= _HALF:
        return None
    if p == 1 or noise.is_flat:
        return d
    exceeds = recurrence.iter_answers(noise, ExceedsQuery(p), min(d, radius_bound(noise, 1 - p)))
    for r, exceeds_threshold in enumerate(watch(islice(exceeds, d + 1))):
        if not exceeds_threshold:
            return r - 1
    return d


def _two_class(noise: Discrete, p_a: Fraction, p_b: Fraction, d: int, watch: Watch) -> int | None:
    if p_a <= p_b:
        return None
    if p_b == 0 or noise.is_flat:  # no other class ever; or x and x̄ look alike
        return d
    likely = _one_class(noise, guess_one_class_p(p_a, p_b), d, watch)
    return two_class_near(noise, p_a, p_b, likely or 0, 0, min(d, radius_bound(noise, p_b)))


def two_class_near(noise: Discrete, p_a: Fraction, p_b: Fraction, likely: int, low: int, high: int) -> int:
    """The largest r in low..high that the two-class rule certifies, given that it does low, searched from a guess.

    0 < p_B < p_A ≤ 1 − p_B. ρ_r never grows with r, so certified radii are 0, 1, …, R. R is at least the radius of p_A
    as one class, and at most that of 1 − p_B: where 1 − p_B ≤ τ_r, ρ_r(p_A) ≤ ρ_r(1−p_B) ≤ ρ_r(τ_r) = 1/2, so that
    the first two sum to no more than 1 and r is not certified.
    """
    return last_true_near(lambda r: certifies(noise, r, p_a, p_b), likely, low, high)


def guess_one_class_p(p_a: Fraction, p_b: Fraction) -> Fraction:
    """A p in (0, 1) with about the same one-class radius. Proves nothing: it is only where a search begins.

    In the limit of large r, ρ_r(p) is Φ(Φ⁻¹(p) − t) for some t, and ρ_r(p_A) + ρ_r(1−p_B) > 1 says that t lies below
    the mean of Φ⁻¹(p_A) and Φ⁻¹(1−p_B); with one class t lies below Φ⁻¹(p).
    """
    quantiles = (
        NormalDist().inv_cdf(min(max(float(value), _TINY), 1 - float_info.epsilon)) for value in (1 - p_a, p_b)
    )
    return 1 - Fraction(erfc(-sum(quantiles) / sqrt(8)) / 2)
