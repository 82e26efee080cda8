"""Others' certified radii against exact certificates of the same evidence."""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from ellzero.audit.claimed_radii import ClaimedRadius
from ellzero.certificates import Votes, certified, certified_from_votes, gaussian_l2_radius, lower_bound
from ellzero.certificates.families.base import Family
from ellzero.certificates.families.composed import Total
from ellzero.core.errors import InvalidInput

RadiusOf: TypeAlias = Callable[[Fraction | Votes], Fraction | None]
"""The exact radius that a probability or votes certify; None to abstain."""

EVERYTHING = Fraction(10) ** 5_000
"""An exact radius that is larger than any claim."""
_LARGEST_DOUBLE = Fraction(sys.float_info.max)
_FLOAT_NOISE = Fraction(1, 10**9)  # relative: what a radius that is not whole may lack and still be the same


class Verdict(StrEnum):
    """What becomes of a claimed radius: the exact certificate gives that radius, a larger one, or a smaller one; or
    nothing says how probable the class was, and unanimous votes would give the radius. Or nothing is claimed."""

    PROVED = "proved"
    LOOSE = "loose"
    NOT_PROVED = "not proved"
    CANNOT_BE_JUDGED = "cannot be judged"
    ABSTAINED = "abstained"


@dataclass(frozen=True)
class JudgedRadius:
    """A claim, the exact radius of its evidence (None: nothing is certified, or nothing is known), and the verdict.

    ``within_rounding``: a radius that is not proved exceeds the exact one by no more than the rounding of its digits.
    """

    claim: ClaimedRadius
    exact: Fraction | None
    verdict: Verdict
    within_rounding: bool = False


def count_changes(
    family: Family, d: int, channels: int, below: bool
) -> tuple[RadiusOf, Callable[[Fraction], Fraction]]:
    """Radii that count changes of any kind under a family: the exact one, and what a claimed one means.

    ``channels`` > 1: claims count pixels of so many coordinates, all of which may change. ``below``: a radius r claims
    fewer than r changes, not at most r.
    """
    counted = family if len(family.axes) == 1 else Total(family)
    (most,) = counted.most
    limits = d if most is None else min(d, most)

    @cache
    def exact(evidence: Fraction | Votes) -> Fraction | None:
        found: Any = (
            certified_from_votes(counted, evidence, limits)
            if isinstance(evidence, Votes)
            else certified(counted, evidence, limits)
        )
        return None if found is None else Fraction(found // channels)

    def mean(radius: Fraction) -> Fraction:
        """The largest whole number of changes that is claimed; −1 for none."""
        return Fraction(-(-radius // 1) - 1 if below else radius // 1)

    return exact, mean


def measure_l2(sigma: Fraction) -> tuple[RadiusOf, Callable[[Fraction], Fraction]]:
    """ℓ2 radii of Gaussian noise: every change of a smaller norm is covered, in claims as in the exact certificate.

    A claimed radius means the double that is nearest to what is written, since it was one.
    """

    @cache
    def exact(evidence: Fraction | Votes) -> Fraction | None:
        p = lower_bound(evidence) if isinstance(evidence, Votes) else evidence
        radius = gaussian_l2_radius(sigma, p)
        if radius is None:
            return None
        return EVERYTHING if radius == float("inf") else Fraction(radius)

    return exact, lambda radius: Fraction(float(radius)) if radius <= _LARGEST_DOUBLE else radius


def judge(
    claims: Iterable[ClaimedRadius],
    exact: RadiusOf,
    mean: Callable[[Fraction], Fraction],
    n: int | None,
    failure: Fraction,
) -> Iterator[JudgedRadius]:
    """Judge each claim by its votes, or by its bound where it has none; without both, by what n unanimous votes give.

    ``n`` is for rows that do not say it.
    """
    for claim in claims:
        votes = claim.n if claim.n is not None else n
        if claim.radius is None:
            yield JudgedRadius(claim, None, Verdict.ABSTAINED)
            continue
        claimed = mean(claim.radius)
        if claim.count is not None and votes is not None:
            if claim.count > votes:
                raise InvalidInput("count", f"at most n = {votes}", claim.count)
            yield _compare(claim, claimed, exact(Votes(claim.count, votes, failure)))
        elif claim.p is not None:
            yield _compare(claim, claimed, exact(claim.p))
        else:
            most = None if votes is None else exact(Votes(votes, votes, failure))
            possible = votes is None or claimed < 0 or (most is not None and claimed <= most)
            yield JudgedRadius(claim, most, Verdict.CANNOT_BE_JUDGED if possible else Verdict.NOT_PROVED)


def _compare(claim: ClaimedRadius, claimed: Fraction, exact: Fraction | None) -> JudgedRadius:
    if claimed < 0:  # fewer than 0 changes: nothing
        return JudgedRadius(claim, exact, Verdict.PROVED if exact is None else Verdict.LOOSE)
    if exact is None:
        return JudgedRadius(claim, None, Verdict.NOT_PROVED)
    if claimed > exact:
        return JudgedRadius(claim, exact, Verdict.NOT_PROVED, claimed - exact <= claim.unit / 2)
    step = max(claim.unit, exact * _FLOAT_NOISE)
    is_same = claimed == exact or (exact.denominator != 1 and exact - claimed < step)
    return JudgedRadius(claim, exact, Verdict.PROVED if is_same else Verdict.LOOSE)
