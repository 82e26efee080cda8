"""The algorithm of Lee, Yuan, Chang and Jaakkola (2019) as published: every region of the whole space.

G.-H. Lee, Y. Yuan, S. Chang, T. Jaakkola: *Tight Certificates of Adversarial Robustness for Randomly Smoothed
Classifiers*, NeurIPS 2019, https://arxiv.org/abs/1906.04948.

It serves as an independent check of the engine, with which it shares no formula. Outcomes that differ from x in u
and from x̄ in v coordinates form the region L(u, v; r), with likelihood ratio (α/β)^(v−u) and

    |L(u,v;r)| = Σ_i (K−1)^j · r!/((u−i−j)!(v−i−j)!j!) · K^i · C(d−r, i),    j = u+v−2i−r.

Regions are added in descending order of ratio while their x̄-mass stays below 1/2. In the region that passes 1/2, a
*binary search* finds the least number of outcomes that reaches it, and a second one finds the least decimal that is
not below their total x-mass. Both err upwards, by at most the mass of one outcome and one decimal unit.

Numbers have d·log₂ z bits, so none are stored: the weight of the d−r common coordinates,
W_i = C(d−r,i)·(K·b)^i·a^(d−r−i), goes from i to i+1 by small factors, and each region needs r+1 consecutive
ones. The work is split over ranges of u: `sum_range` may run on each anywhere, and `combine` joins the results.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import pairwise
from math import factorial
from typing import NamedTuple

from ellzero.certificates._integers import bincoef, divexact, fma, mpz, xmpz
from ellzero.certificates.families.discrete import Discrete
from ellzero.core.errors import Inconsistent
from ellzero.core.numbers import read_digits, read_dimension, read_integer, scaled_decimal

# With ranges, progress is visible, and only one of them has to be searched for the region that passes 1/2.
_OUTCOMES_A_RANGE = 2_048
_MOST_RANGES = 64


@dataclass(frozen=True)
class PaperCell:
    """One (d, K, α, r)."""

    noise: Discrete
    d: int
    r: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "d", read_dimension(self.d))
        object.__setattr__(self, "r", read_integer(self.r, "r", 0, self.d))

    def ranges(self) -> list[range]:
        """0 ≤ u ≤ d, split into ranges that can be summed independently."""
        count = min(_MOST_RANGES, self.d // _OUTCOMES_A_RANGE + 1)
        cuts = [i * (self.d + 1) // count for i in range(count + 1)]
        return [range(low, high) for low, high in pairwise(cuts)]


class PartialSums(NamedTuple):
    """Regions with u in ``us``: their x-mass by key v − u in units of z^-d, and the number of their outcomes."""

    us: range
    masses: dict[int, int]
    outcomes: int


class PaperThreshold(NamedTuple):
    """τ_r lies in [value − error_bound, value]."""

    noise: Discrete
    d: int
    r: int
    value: Decimal
    error_bound: Decimal


Mapper = Callable[[Callable[[range], PartialSums], Sequence[range]], Iterable[PartialSums]]


def paper_threshold(noise: Discrete, d: int, r: int, digits: int = 20, mapper: Mapper = map) -> PaperThreshold:
    """An upper bound on τ_r with ``digits`` digits, by the published algorithm for inputs of ``d`` coordinates.

    ``mapper`` applies a function to ranges as `map` does: pass a pool's ``imap`` to share the cell among processes.
    Cost: about (r+1)(r+2)/2 · d products of numbers of d·log₂ z bits with small ones.
    """
    cell, digits = PaperCell(noise, d, r), read_digits(digits)
    return combine(cell, mapper(partial(sum_range, cell), cell.ranges()), digits)


def region_count(k: int, d: int, r: int) -> int:
    """The number of regions L(u, v; r) that hold an outcome, in O(1).

    (u, v) = (a + i, b + i), where i of the d − r common coordinates differ from both inputs, and of the r others a
    differ from x and b from x̄. For K = 1 each of these differs from exactly one, so a + b = r: r + 1 keys v − u, each
    with d − r + 1 regions. For K > 1 it is a + b ≥ r with a, b ≤ r, so the key b − a = w allows ⌊(r − |w|)/2⌋ + 1
    consecutive a, and with i these are ⌊(r − |w|)/2⌋ + d − r + 1 consecutive u. The sum over −r ≤ w ≤ r is
    (2r + 1)·(d − r + 1) + r·(r − 1)/2.
    """
    k, d = read_integer(k, "k", 1), read_dimension(d)
    r = read_integer(r, "r", 0, d)
    if k == 1:
        return (r + 1) * (d - r + 1)
    return (2 * r + 1) * (d - r + 1) + r * (r - 1) // 2


def sum_range(cell: PaperCell, us: range) -> PartialSums:
    """Sum the regions with u in ``us`` by key; the mass of each is computed on its own."""
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
    return PartialSums(us, {key: mpz(mass) for key, mass in masses.items()}, mpz(outcomes))


def combine(cell: PaperCell, partial_sums: Iterable[PartialSums], digits: int = 20) -> PaperThreshold:
    """The threshold from the sums of all ranges, in any order."""
    sums = sorted(partial_sums, key=lambda piece: piece.us.start)
    a, _, b, z = cell.noise.weights
    total = mpz(z) ** cell.d
    keys = range(-cell.r, cell.r + 1)
    groups = {key: sum((piece.masses[key] for piece in sums), start=mpz(0)) for key in keys}
    if sum(piece.outcomes for piece in sums) != mpz(cell.noise.k + 1) ** cell.d:
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
    for piece in sums:  # regions of this key, by v
        if 2 * (xbar_mass + piece.masses[-key]) >= total:
            break
        x_mass += piece.masses[key]
        xbar_mass += piece.masses[-key]
    # part.masses[key] went by u, not by v = u + key: take back, or add, the few regions between.
    x_mass -= sum(region.x_mass for region in _regions(cell, key, range(piece.us.start - key, piece.us.start)))
    x_mass += sum(region.x_mass for region in _regions(cell, key, range(piece.us.start, piece.us.start - key)))
    for region in _regions(cell, key, range(piece.us.start - key, piece.us.stop - key)):
        if 2 * (xbar_mass + region.xbar_mass) >= total:
            break
        x_mass += region.x_mass
        xbar_mass += region.xbar_mass
    outcome_x = _outcome(cell, region.u)
    outcome_xbar = _outcome(cell, region.u + key)
    size = next(_sizes(cell, key, range(region.u, region.u + 1)))
    if (size * outcome_x, size * outcome_xbar) != (region.x_mass, region.xbar_mass):
        raise Inconsistent("the mass of the last region is not its size times the mass of an outcome")

    count = least_multiple(2 * outcome_xbar, total - 2 * xbar_mass, size)
    units = least_decimal(x_mass + count * outcome_x, total, digits)
    return PaperThreshold(
        cell.noise, cell.d, cell.r, scaled_decimal(units, digits), error_bound(cell.noise, cell.d, digits)
    )


def error_bound(noise: Discrete, d: int, digits: int) -> Decimal:
    """max(α, β)^d + 10^-digits, rounded up to 2·digits digits: at most one outcome and one decimal unit too many."""
    largest = max(noise.alpha, noise.beta)
    scale = mpz(10) ** (2 * digits)
    outcome = scale * mpz(largest.numerator) ** d // mpz(largest.denominator) ** d + 1
    return scaled_decimal(int(outcome) + 10**digits, 2 * digits)


def least_multiple(step: int, goal: int, most: int) -> int:
    """The least n in 1..most with n·step ≥ goal, by binary search: division without dividing.

    Halves the interval that holds n−1, the largest count below the goal, keeping what is still to be covered.
    """
    bits = most.bit_length()
    candidate, rest = step << bits, goal
    binary_digits = []
    for _ in range(bits + 1):
        below = candidate < rest
        if below:
            rest -= candidate
        binary_digits.append("1" if below else "0")
        candidate >>= 1
    return mpz("".join(binary_digits), 2) + 1


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
    """The regions L(u, u+key; r) with their masses under x and under x̄, each computed on its own."""
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
        stay_count = equal_xbar if under_xbar else equal_x
        factor = ways * (cell.noise.k - 1) ** other * a**stay_count * b ** (cell.r - stay_count)
        coefficients.append((equal_x, mpz(factor)))
    return coefficients


def _mass(window: deque[int], coefficients: list[tuple[int, int]]) -> int:
    mass = mpz(0)
    for place, factor in coefficients:
        mass = fma(window[place], factor, mass)
    return mass
