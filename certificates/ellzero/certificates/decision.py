"""From probabilities to a certified radius: the one-class rule, the two-class rule, and why."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TypeAlias

from ellzero.certificates import walk
from ellzero.certificates._balls import Undecided, precision, sign
from ellzero.certificates._inputs import RationalLike, dimension, probability
from ellzero.certificates._search import last_true
from ellzero.certificates.cell import rho_ball
from ellzero.certificates.discrete import rho
from ellzero.certificates.engine import radius_bound, thresholds
from ellzero.certificates.noise import Noise
from ellzero.certificates.rounding import ExceedsQuestion

# Wraps an iteration that may be long; `iter` does nothing more.
Watch: TypeAlias = Callable[[Iterable[bool]], Iterable[bool]]

_HALF = Fraction(1, 2)
_EXACT_BITS = 4_096


@dataclass(frozen=True)
class Certificate:
    """A certified radius and its reason. ``radius`` None means abstain: not even r = 0 is certified.

    p exceeds τ_radius and not τ_{radius+1}. ``threshold`` and ``next_threshold`` are their ceilings (the latter None at
    radius d, where no more coordinates can change); p lies at least ``margin`` above τ_radius: above its ceiling, or 0.
    """

    noise: Noise
    p: Fraction
    d: int
    radius: int | None
    threshold: Decimal | None
    next_threshold: Decimal | None
    margin: Fraction | None


def radius(
    noise: Noise, p: RationalLike, d: int, p_b: RationalLike | None = None, *, watch: Watch = iter
) -> int | None:
    """The largest r ≤ d such that every x̄ with ‖x−x̄‖₀ ≤ r gets the same answer as x; None to abstain.

    ``p`` is a lower bound of the probability of the top class at x (a float counts as its exact value). With
    ``p`` alone: the largest r with p > τ_r, and p ≤ 1/2 abstains. With ``p_b``, an upper bound of the
    probability of *every* other class, the condition is ρ_r(p) > 1 − ρ_r(1−p_b) with p_b := min(p_b, 1−p); then
    p may be below 1/2, and p ≤ p_b abstains. Exact in both.

    About 5 µs for each radius certified: ``watch`` may wrap the iteration over them, to show progress.

    >>> radius(Noise(255, "0.2"), "0.99", 150528)
    3
    """
    top = probability(p, "p")
    d = dimension(d)
    if p_b is None:
        return _one_class(noise, top, d, watch)
    return _two_class(noise, top, min(probability(p_b, "p_b"), 1 - top), d, watch)


def certify(noise: Noise, p: RationalLike, d: int, digits: int = 20, *, watch: Watch = iter) -> Certificate:
    """The one-class `radius` together with the thresholds it lies between."""
    exact_p = probability(p, "p")
    certified = radius(noise, exact_p, d, watch=watch)
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


def certifies(noise: Noise, r: int, p_a: Fraction, p_b: Fraction) -> bool:
    """The two-class condition at exactly r: ρ_r(p_A) > 1 − ρ_r(1−p_B), for 0 < p_A, p_B < 1. Exact."""
    if r * noise.weights.z.bit_length() > _EXACT_BITS:
        for bits in (128, 512):
            try:
                with precision(bits):
                    return sign(rho_ball(noise, r, p_a, bits) + rho_ball(noise, r, 1 - p_b, bits) - 1) > 0
            except Undecided:
                continue
    return rho(noise, r, p_a) > 1 - rho(noise, r, 1 - p_b)


def _one_class(noise: Noise, p: Fraction, d: int, watch: Watch) -> int | None:
    if p <= _HALF:
        return None
    if p == 1 or noise.is_flat:
        return d
    exceeds = walk.answers(noise, ExceedsQuestion(p), min(d, radius_bound(noise, 1 - p)))
    for r, exceeded in enumerate(watch(islice(exceeds, d + 1))):
        if not exceeded:
            return r - 1
    return d


def _two_class(noise: Noise, p_a: Fraction, p_b: Fraction, d: int, watch: Watch) -> int | None:
    if p_a <= p_b:
        return None
    if p_b == 0 or noise.is_flat:  # no other class ever; or x and x̄ look alike
        return d
    certified = _one_class(noise, p_a, d, watch) or 0  # the two-class rule is never weaker
    # ρ_r never grows with r, so certified radii are 0, 1, …, R.
    return last_true(lambda r: certifies(noise, r, p_a, p_b), certified, d)
