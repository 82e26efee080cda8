"""The algorithm of Lee, Yuan, Chang and Jaakkola (2019), as they state it: every region of the whole space.

G.-H. Lee, Y. Yuan, S. Chang, T. Jaakkola: *Tight Certificates of Adversarial Robustness for Randomly Smoothed
Classifiers*, NeurIPS 2019, https://arxiv.org/abs/1906.04948.

Kept beside the engine as an independent check: it shares no formula with it. Outcomes that differ from x in u
and from x̄ in v coordinates form the region L(u, v; r), with likelihood ratio (α/β)^(v−u) and

    |L(u,v;r)| = Σ_i (K−1)^j · r!/((u−i−j)!(v−i−j)!j!) · K^i · C(d−r, i),    j = u+v−2i−r.

Regions are taken in descending order of ratio while the x̄-mass stays below 1/2; of the region that passes it,
a *binary search* finds the least count of outcomes that reaches 1/2, and a second one the least decimal that is
not below the x-mass gathered. Both err upwards, by at most the mass of one outcome and one decimal unit.

Numbers have d·log₂ z bits, so nothing is stored: the part of the d−r common coordinates,
W_i = C(d−r,i)·(K·b)^i·a^(d−r−i), goes from i to i+1 by small factors, and each region needs r+1 consecutive
ones. The regions split over ranges of u: `partial` of each range may run anywhere, `combine` joins them.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial as bind
from itertools import pairwise
from math import factorial
from typing import NamedTuple

from ellzero.certificates._integers import bincoef, divexact, fma, mpz, xmpz
from ellzero.certificates.noise import Noise
from ellzero.certificates.rounding import check_digits, decimal
from ellzero.core.errors import Inconsistent
from ellzero.core.numbers import read_dimension, read_integer

# Ranges keep progress visible and let the crossing region be found by walking one of them only.
_OUTCOMES_A_RANGE = 2_048
_MOST_RANGES = 64


@dataclass(frozen=True)
class PaperCell:
    """One (d, K, α, r)."""

    noise: Noise
    d: int
    r: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", read_dimension(self.d))
        object.__setattr__(self, "r", read_integer(self.r, "r", 0, self.d))

    def ranges(self) -> list[range]:
        """0 ≤ u ≤ d cut into ranges that can be worked on apart."""
        parts = min(_MOST_RANGES, self.d // _OUTCOMES_A_RANGE + 1)
        cuts = [part * (self.d + 1) // parts for part in range(parts + 1)]
        return [range(low, high) for low, high in pairwise(cuts)]


class Partial(NamedTuple):
    """Regions with u in ``us``: their x-mass by key v − u in units of z^-d, and how many outcomes they hold."""

    us: range
    masses: dict[int, int]
    outcomes: int


class PaperThreshold(NamedTuple):
    """τ_r lies in [value − error_bound, value]."""

    noise: Noise
    d: int
    r: int
    value: Decimal
    error_bound: Decimal


Mapper = Callable[[Callable[[range], Partial], Sequence[range]], Iterable[Partial]]


def paper_threshold(noise: Noise, d: int, r: int, digits: int = 20, mapper: Mapper = map) -> PaperThreshold:
    """An upper bound of τ_r with ``digits`` digits, by the paper's algorithm on inputs of ``d`` coordinates.

    ``mapper`` applies a function to ranges as `map` does: give a pool's ``imap`` to share the cell among processes.
    Cost: about (r+1)(r+2)/2 · d products of numbers of d·log₂ z bits with small ones.
    """
    cell, digits = PaperCell(noise, d, r), check_digits(digits)
    return combine(cell, mapper(bind(partial, cell), cell.ranges()), digits)


def partial(cell: PaperCell, us: range) -> Partial:
    """The regions with u in ``us``, the mass of each formed on its own and added to those with its key."""
    a, _, b, _ = cell.noise.weights
    masses = {key: xmpz(0) for key in range(-cell.r, cell.r + 1)}
    under_x = {key: _coefficients(cell, key, a, b) for key in masses}
    for _, window in _windows(cell, a, b, us):
        for key, coefficients in under_x.items():
            masses[key] += _mass(window, coefficients)
    outcomes = xmpz(0)
    # |L(v,u;r)| = |L(u,v;r)|, so each u counts its regions with v ≥ u, and twice those with v > u.
    counts = {key: _coefficients(cell, key, 1, 1) for key in range(cell.r + 1)}
    for _, window in _windows(cell, 1, 1, us):
        for key, coefficients in counts.items():
            count = _mass(window, coefficients)
            outcomes += 2 * count if key else count
    return Partial(us, {key: mpz(mass) for key, mass in masses.items()}, mpz(outcomes))


def combine(cell: PaperCell, partials: Iterable[Partial], digits: int = 20) -> PaperThreshold:
    """The threshold from the partial results of all ranges, in any order."""
    parts = sorted(partials, key=lambda part: part.us.start)
    a, _, b, z = cell.noise.weights
    total = mpz(z) ** cell.d
    keys = range(-cell.r, cell.r + 1)
    groups = {key: sum((part.masses[key] for part in parts), start=mpz(0)) for key in keys}
    if sum(part.outcomes for part in parts) != mpz(cell.noise.k + 1) ** cell.d:
        raise Inconsistent("the regions do not hold (K+1)^d outcomes")
    if sum(groups.values()) != total:
        raise Inconsistent("the masses of the regions do not sum to 1")

    # The x̄-mass of L(u,v;r) is the x-mass of L(v,u;r), so that of the key is that of its opposite.
    x_mass = xbar_mass = mpz(0)
    for key in reversed(keys) if a >= b else keys:
        if 2 * (xbar_mass + groups[-key]) >= total:
            break
        x_mass += groups[key]
        xbar_mass += groups[-key]
    for part in parts:  # regions of this key, by v
        if 2 * (xbar_mass + part.masses[-key]) >= total:
            break
        x_mass += part.masses[key]
        xbar_mass += part.masses[-key]
    # part.masses[key] went by u, not by v = u + key: take back, or add, the few regions between.
    x_mass -= sum(region.x_mass for region in _regions(cell, key, range(part.us.start - key, part.us.start)))
    x_mass += sum(region.x_mass for region in _regions(cell, key, range(part.us.start, part.us.start - key)))
    for region in _regions(cell, key, range(part.us.start - key, part.us.stop - key)):
        if 2 * (xbar_mass + region.xbar_mass) >= total:
            break
        x_mass += region.x_mass
        xbar_mass += region.xbar_mass
    outcome_x = _outcome(cell, region.u)
    outcome_xbar = _outcome(cell, region.u + key)
    size = next(_sizes(cell, key, range(region.u, region.u + 1)))
    if (size * outcome_x, size * outcome_xbar) != (region.x_mass, region.xbar_mass):
        raise Inconsistent("the mass of the last region is not its size times the mass of an outcome")

    taken = least_multiple(2 * outcome_xbar, total - 2 * xbar_mass, size)
    units = least_decimal(x_mass + taken * outcome_x, total, digits)
    return PaperThreshold(cell.noise, cell.d, cell.r, decimal(units, digits), error_bound(cell.noise, cell.d, digits))


def error_bound(noise: Noise, d: int, digits: int) -> Decimal:
    """max(α, β)^d + 10^-digits, rounded up at 2·digits digits: one outcome and one decimal unit too many at most."""
    largest = max(noise.alpha, noise.beta)
    scale = mpz(10) ** (2 * digits)
    outcome = scale * mpz(largest.numerator) ** d // mpz(largest.denominator) ** d + 1
    return decimal(int(outcome) + 10**digits, 2 * digits)


def least_multiple(step: int, goal: int, most: int) -> int:
    """The least n in 1..most with n·step ≥ goal, by binary search: division without dividing.

    Halves the interval that holds n−1, the largest count below the goal, keeping what is still to be covered.
    """
    bits = most.bit_length()
    candidate, rest = step << bits, goal
    found = []
    for _ in range(bits + 1):
        below = candidate < rest
        if below:
            rest -= candidate
        found.append("1" if below else "0")
        candidate >>= 1
    return mpz("".join(found), 2) + 1


def least_decimal(numerator: int, denominator: int, digits: int) -> int:
    """The least n in 0..10^digits with n/10^digits ≥ numerator/denominator, by binary search."""
    goal = numerator * 10**digits
    low, high = 0, 10**digits
    while low < high:
        middle = (low + high) // 2
        if middle * denominator >= goal:
            high = middle
        else:
            low = middle + 1
    return low


class _SizedRegion(NamedTuple):
    u: int
    x_mass: int
    xbar_mass: int


def _regions(cell: PaperCell, key: int, us: range) -> Iterator[_SizedRegion]:
    """The regions L(u, u+key; r) with their masses under x and under x̄, each formed on its own."""
    a, _, b, _ = cell.noise.weights
    under_x = _coefficients(cell, key, a, b)
    under_xbar = _coefficients(cell, key, a, b, under_xbar=True)
    for u, window in _windows(cell, a, b, us):
        yield _SizedRegion(u, _mass(window, under_x), _mass(window, under_xbar))


def _sizes(cell: PaperCell, key: int, us: range) -> Iterator[int]:
    """|L(u, u+key; r)|."""
    coefficients = _coefficients(cell, key, 1, 1)
    return (_mass(window, coefficients) for _, window in _windows(cell, 1, 1, us))


def _outcome(cell: PaperCell, differing: int) -> int:
    """The mass of one outcome that differs from the input in so many coordinates, in units of z^-d."""
    a, _, b, _ = cell.noise.weights
    return mpz(a) ** (cell.d - differing) * mpz(b) ** differing


def _windows(cell: PaperCell, a: int, b: int, us: range) -> Iterator[tuple[int, deque[int]]]:
    """For each u the weights W_{u−r}, …, W_u of the common coordinates, 0 where there is none."""
    common, factor = cell.d - cell.r, cell.noise.k * b
    window: deque[int] = deque(maxlen=cell.r + 1)
    weight: int | None = None
    for i in range(us.start - cell.r, us.stop):
        if not 0 <= i <= common:
            window.append(mpz(0))
        elif weight is None:
            weight = bincoef(common, i) * mpz(factor) ** i * mpz(a) ** (common - i)
            window.append(weight)
        else:
            weight = divexact(weight * (factor * (common - i + 1)), a * i)
            window.append(weight)
        if i >= us.start:
            yield i, window


def _coefficients(cell: PaperCell, key: int, a: int, b: int, under_xbar: bool = False) -> list[tuple[int, int]]:
    """What the r differing coordinates contribute to the mass of a region, by the place in the window.

    With e of them equal to x, e − key equal to x̄ and j to neither, u = i + r − e, so W_i stands at place e.
    """
    coefficients: list[tuple[int, int]] = []
    for equal_x in range(max(0, key), (cell.r + key) // 2 + 1):
        equal_xbar = equal_x - key
        other = cell.r - equal_x - equal_xbar
        ways = factorial(cell.r) // (factorial(equal_x) * factorial(equal_xbar) * factorial(other))
        kept = equal_xbar if under_xbar else equal_x
        factor = ways * (cell.noise.k - 1) ** other * a**kept * b ** (cell.r - kept)
        coefficients.append((equal_x, mpz(factor)))
    return coefficients


def _mass(window: deque[int], coefficients: list[tuple[int, int]]) -> int:
    mass = mpz(0)
    for place, factor in coefficients:
        mass = fma(window[place], factor, mass)
    return mass
