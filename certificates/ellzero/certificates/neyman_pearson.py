"""The general lemma: the tight certificate of any noise that has finitely many likelihood ratios.

Partition the space of outcomes into regions on which the likelihood ratio (probability under x) / (probability
under x̄) is constant. Among all classifiers that answer y with probability p at x, the one that answers y
least often at x̄ takes whole regions in descending order of that ratio until their x-mass is p, and a
fraction of the last (Neyman and Pearson). So

    ρ(p)    = the x̄-mass of these regions when their x-mass reaches p,
    ρ⁻¹(q) := sup{p : ρ(p) ≤ q},

and ρ is piecewise linear, convex and non-decreasing. Everything here is exact. A family of noises only has
to define its regions; docs/mathematics.md has the proof.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from numbers import Rational
from typing import NamedTuple, TypeAlias, TypeVar

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_probability

T = TypeVar("T")
Mass: TypeAlias = int | Fraction


class Region(NamedTuple):
    """Outcomes with one likelihood ratio ``x / xbar``, by their mass under x and under x̄.

    Masses may be in any unit, as long as all regions use the same. Either may be 0 (ratios 0 and ∞).
    """

    x: Mass
    xbar: Mass


def rho(regions: Iterable[tuple[Mass, Mass]], total: Mass, p: Fraction) -> Fraction:
    """ρ(p) from regions that come in descending order of ratio, whose x- and x̄-masses sum to ``total``.

    Exact. Reads no more regions than it needs and stores none, so they may come from a generator.
    """
    unit, missing = p.denominator, p.numerator * total
    xbar_mass: Mass = 0
    for x, xbar in regions:
        mass = x * unit
        if mass >= missing:
            return divide(xbar_mass * mass + xbar * missing, mass * total) if missing else divide(xbar_mass, total)
        missing -= mass
        xbar_mass += xbar
    raise InvalidInput("regions", "masses under x that sum to the total", xbar_mass)


def rho_inverse(regions: Iterable[tuple[Mass, Mass]], total: Mass, q: Fraction) -> Fraction:
    """ρ⁻¹(q) = sup{p : ρ(p) ≤ q} from regions in descending order of ratio. Exact, streaming as `rho`."""
    return divide(*rho_inverse_parts(regions, total, q))


def rho_inverse_parts(regions: Iterable[tuple[Mass, Mass]], total: Mass, q: Fraction) -> tuple[Mass, Mass]:
    """`rho_inverse` as numerator and denominator, which are not reduced: that takes longer than the rest."""
    unit, missing = q.denominator, q.numerator * total
    x_mass: Mass = 0
    for x, xbar in regions:
        mass = xbar * unit
        if mass > missing:
            return x_mass * mass + x * missing, mass * total
        missing -= mass
        x_mass += x
    return x_mass, total


def divide(numerator: Mass, denominator: Mass) -> Fraction:
    """As a Fraction of ints; masses may be integers of GMP or FLINT."""
    if isinstance(numerator, Fraction) or isinstance(denominator, Fraction):
        return Fraction(numerator) / Fraction(denominator)
    return Fraction(int(numerator), int(denominator))


class RegionStream(NamedTuple):
    """Regions in descending order of ratio, which are read one after the other, and their total."""

    regions: Iterable[tuple[Mass, Mass]]
    total: Mass

    def listed(self) -> "RegionStream":
        """The same regions, to be read more than once."""
        return RegionStream(list(self.regions), self.total)

    def rho(self, p: Fraction) -> Fraction:
        return rho(self.regions, self.total, p)

    def inverse_parts(self, q: Fraction) -> tuple[Mass, Mass]:
        return rho_inverse_parts(self.regions, self.total, q)

    def answer(self, q: Fraction, question: Callable[[Mass, Mass], T], bits: int) -> T:
        """The question of ρ⁻¹(q), as numerator and denominator, answered in integers, whatever its resolution is."""
        return question(*self.inverse_parts(q))


@dataclass(frozen=True)
class Rho:
    """The function ρ itself: linear between consecutive ``breakpoints`` (p, ρ(p)), from p = 0 to p = 1.

    >>> third = Fraction(1, 3)
    >>> rho = Rho.of([Region(2 * third, third), Region(third, 2 * third)])
    >>> rho.breakpoints
    ((Fraction(0, 1), Fraction(0, 1)), (Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 1), Fraction(1, 1)))
    >>> rho("5/6"), rho.inverse("1/2")
    (Fraction(2, 3), Fraction(3, 4))
    """

    breakpoints: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, regions: Iterable[Region]) -> "Rho":
        """ρ of regions in any order. Their x-masses and their x̄-masses must have the same positive sum."""
        descending = sort_descending(regions)
        total = Fraction(sum(region.x for region in descending))
        if total <= 0 or total != sum(region.xbar for region in descending):
            raise InvalidInput("regions", "masses under x and x̄ with the same positive sum", descending)
        p = q = Fraction(0)
        points = [(p, q)]
        for region in descending:
            if region.x == 0:  # ratio 0: never worth taking, so ρ(1) may stay below 1
                break
            p += region.x / total
            q += region.xbar / total
            points.append((p, q))
        return cls(tuple(points))

    def __call__(self, p: RationalLike) -> Fraction:
        """ρ(p) for p in [0, 1]."""
        x_mass = read_probability(p, "p")
        end = max(1, bisect_left(self.breakpoints, x_mass, key=lambda point: point[0]))
        (p0, q0), (p1, q1) = self.breakpoints[end - 1 : end + 1]
        return q0 + (q1 - q0) * (x_mass - p0) / (p1 - p0)

    def inverse(self, q: RationalLike) -> Fraction:
        """sup{p : ρ(p) ≤ q} for q in [0, 1]."""
        xbar_mass = read_probability(q, "q")
        end = bisect_right(self.breakpoints, xbar_mass, key=lambda point: point[1])
        if end == len(self.breakpoints):
            return Fraction(1)
        (p0, q0), (p1, q1) = self.breakpoints[end - 1 : end + 1]
        return p0 + (p1 - p0) * (xbar_mass - q0) / (q1 - q0)


def sort_descending(regions: Iterable[Region]) -> list[Region]:
    """The regions that have mass, in descending order of ratio; those of equal ratio become one."""
    exact = [Region(_mass(region.x), _mass(region.xbar)) for region in regions]
    nonempty = [region for region in exact if region.x or region.xbar]
    groups: list[Region] = []
    for region in sorted(nonempty, key=cmp_to_key(_by_ratio)):
        if groups and _by_ratio(groups[-1], region) == 0:
            last = groups.pop()
            groups.append(Region(last.x + region.x, last.xbar + region.xbar))
        else:
            groups.append(region)
    return groups


def _mass(value: object) -> Mass:
    """An exact mass as an int or a Fraction of ints; floats are refused, since it is unclear what they stand for."""
    if isinstance(value, bool) or not isinstance(value, Rational) or value < 0:
        raise InvalidInput("regions", "masses of at least 0 that are integers or Fractions", value)
    numerator, denominator = int(value.numerator), int(value.denominator)
    return numerator if denominator == 1 else Fraction(numerator, denominator)


def _by_ratio(first: Region, second: Region) -> int:
    """Negative when ``first`` has the larger ratio; cross-multiplied, so that 0 and ∞ need no division."""
    left, right = first.x * second.xbar, second.x * first.xbar
    return (left < right) - (left > right)
