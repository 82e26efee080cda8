"""What holds for every classifier with the same smoothed probability, tree or not."""

from fractions import Fraction

from ellzero.certificates import Discrete, radius, rho


def agnostic_radius(alpha: Fraction, p: Fraction, d: int) -> int:
    """The radius that p, the exact probability of the class at x, certifies whatever the classifier; −1 at p ≤ 1/2.

    Without noise (α = 1) the class at x says nothing of other inputs: radius 0.
    """
    if p <= Fraction(1, 2):
        return -1
    result = 0 if alpha == 1 else radius(Discrete(1, alpha), p, d)
    return -1 if result is None else result


def agnostic_low(alpha: Fraction, p: Fraction, r: int) -> Fraction:
    """ρ_r(p): the least probability at an input with r changed bits, over all classifiers with probability p at x."""
    if r == 0:
        return p
    return Fraction(0) if alpha == 1 else rho(Discrete(1, alpha), r, p)
