"""The general product: the regions of any number of changed coordinates, in the order of their likelihood ratios.

What one changed coordinate shows is a block: a few outcomes, each with a mass under x and one under x̄. Coordinates are
struck independently, so several of them show a product of their blocks, in which outcomes of equal ratio are one
region. The product is a product of polynomials:

* Write all ratios as ∏ g_i^e_i over pairwise coprime integers g_i > 1 (`coprime_base`). By unique factorisation two
  ratios are equal iff their exponents are, so that the exponents name the region: monomials. Masses are coefficients.
* Outcomes of ratio 0 or ∞ stay out of the product. A product with a factor of ratio ∞ and none of ratio 0 has no
  x̄-mass, so that its x-mass is all that the finite ratios leave over; the same for ratio 0 with x and x̄ exchanged.
* Regions are ordered **after** the product: the product of two ordered lists has no order of its own. Where the
  exponents lie on a line, the order is that of its points, and `tail_sums` finds ρ without walking them. Otherwise
  integers that approximate the logarithms decide where their error allows it, with more bits where it does not;
  different exponents are never equal ratios.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from math import comb, gcd, lcm, prod
from typing import Any, NamedTuple, Protocol, TypeAlias

from flint import Ordering, fmpz_mpoly_ctx

from ellzero.certificates._balls import arb, bounds, fmpz, precision
from ellzero.certificates.neyman_pearson import Mass, Region, RegionStream, sort_descending
from ellzero.certificates.tail_sums import LineBlocks, LineProduct, MassPolynomials, TailSums
from ellzero.core.cancellation import check_cancelled
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_probability

Masses: TypeAlias = tuple[Mass, Mass]
OrderedRegions: TypeAlias = RegionStream | LineProduct


class Block:
    """What one changed coordinate shows: its outcomes, with masses that sum to 1 under x and under x̄. Exact."""

    def __init__(self, outcomes: Iterable[tuple[RationalLike, RationalLike]]) -> None:
        try:
            pairs = [(read_probability(x, "block"), read_probability(xbar, "block")) for x, xbar in outcomes]
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidInput("block", "pairs of masses under x and under x̄", outcomes) from None
        if sum(x for x, _ in pairs) != 1 or sum(xbar for _, xbar in pairs) != 1:
            raise InvalidInput("block", "outcomes whose masses sum to 1 under x and under x̄", pairs)
        self.outcomes = tuple(Region(x, xbar) for x, xbar in pairs)
        self.z = lcm(*(mass.denominator for pair in pairs for mass in pair))
        scaled = ((int(x * self.z), int(xbar * self.z)) for x, xbar in pairs)
        self.finite = tuple((x, xbar) for x, xbar in scaled if x and xbar)  # of ratios between 0 and ∞, times z
        self.common_mass = sum((Fraction(xbar) for x, xbar in pairs if x), start=Fraction(0))  # under x̄
        self.is_flat = all(x == xbar for x, xbar in self.finite) and sum(x for x, _ in self.finite) == self.z
        self._hash = hash((self.z, self.finite))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Block) and (self.z, self.finite) == (other.z, other.finite))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Block({[(str(x), str(xbar)) for x, xbar in self.outcomes]})"

    @property
    def ordered(self) -> RegionStream:
        """Its regions in descending order of ratio, and their total: what a product of one coordinate has."""
        return RegionStream(self._ordered, self.z)

    @cached_property
    def _ordered(self) -> list[Region]:
        return sort_descending(Region(int(x * self.z), int(xbar * self.z)) for x, xbar in self.outcomes)

    @property
    def exchanged(self) -> "Block":
        """The block with x and x̄ exchanged: what the opposite change shows."""
        return Block((xbar, x) for x, xbar in self.outcomes)


Perturbation: TypeAlias = tuple[tuple[Block, int], ...]
"""What all changed coordinates show together: blocks, and how many coordinates show each."""


class ProductSize(NamedTuple):
    """At most how many regions a product has, the bits of its masses, and whether its ratios lie on a line."""

    regions: int
    bits: int
    on_line: bool


_FIRST_BITS = 64  # of the logarithms that order regions
_KEPT_BYTES = 1 << 26  # of products: enough for two rows of a square of budgets of 100 by 100
_MOST_BITS = 1 << 32  # of a product: half a gigabyte, and about ten seconds
_EXPONENT_BITS = 256  # of an exponent while regions are ordered
_POWERS = 16  # numbers as long as the total, and the work on them
_FEW = 1_000  # regions
_MANY_EXPONENTS = 10_000
_MOST_RATIOS = 4_096  # whose factors are looked for


class _Arithmetic(Protocol):
    """What multiplies blocks: their masses, or sums of them."""

    def multiply(self, counts: Sequence[int]) -> tuple[Any, Any]:
        """The polynomials under x and under x̄ of so many of each block."""

    def step(self, product: Any, place: int) -> tuple[Any, Any]:
        """The polynomials with one more of the block at this place."""

    def measure_number(self, bits: int) -> int:
        """About how many bytes a coefficient has, if the total has so many bits."""


class Products:
    """Products of blocks. Keeps the last ones, so that a product that has one coordinate more than one of them costs a
    single multiplication: walk budgets in their order."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[_Arithmetic, Perturbation], tuple[Any, Any]] = OrderedDict()
        self._bytes = 0

    def order(self, perturbation: Perturbation) -> OrderedRegions:
        """The regions in descending order of ratio: to be searched if ratios lie on a line, otherwise to be read."""
        perturbation = _simplify(perturbation)
        if len(perturbation) == 1 and perturbation[0][1] == 1:
            return perturbation[0][0].ordered
        layout, total = _lay_out_checked(perturbation), _multiply_units(perturbation)
        if isinstance(layout, LineBlocks):
            line = layout
            return LineProduct(
                lambda bits: TailSums(*self._multiply(line.sums(bits), perturbation)),
                lambda: self._read(line, perturbation, total),
                total,
            )
        return self._read(layout, perturbation, total)

    def regions(self, perturbation: Perturbation) -> RegionStream:
        """The regions in descending order of ratio, each with its masses, whatever the ratios are."""
        perturbation = _simplify(perturbation)
        if len(perturbation) == 1 and perturbation[0][1] == 1:
            return perturbation[0][0].ordered
        return self._read(_lay_out_checked(perturbation), perturbation, _multiply_units(perturbation))

    def _read(self, layout: "LineBlocks | _Lattice", perturbation: Perturbation, total: Any) -> RegionStream:
        x, xbar = self._multiply(layout, perturbation)
        return RegionStream(_with_ends(layout.order(x, xbar), perturbation, total), total)

    def _multiply(self, arithmetic: _Arithmetic, perturbation: Perturbation) -> tuple[Any, Any]:
        """The product by an arithmetic of the blocks of this perturbation."""
        key = arithmetic, perturbation
        product = self._kept.get(key)
        if product is None:
            check_cancelled()
            product = self._make(arithmetic, perturbation)
            self._kept[key] = product
            self._bytes += _measure(*key, product)
            while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
                oldest, dropped = self._kept.popitem(last=False)
                self._bytes -= _measure(*oldest, dropped)
        else:
            self._kept.move_to_end(key)
        return product

    def _make(self, arithmetic: _Arithmetic, perturbation: Perturbation) -> tuple[Any, Any]:
        for place, (block, count) in enumerate(perturbation):
            if count > 1:
                before = (*perturbation[:place], (block, count - 1), *perturbation[place + 1 :])
                if (product := self._kept.get((arithmetic, before))) is not None:
                    return arithmetic.step(product, place)
        return arithmetic.multiply([count for _, count in perturbation])


def _simplify(perturbation: Perturbation) -> Perturbation:
    """Without blocks that show nothing."""
    return tuple((block, count) for block, count in perturbation if count and not block.is_flat)


def _lay_out_checked(perturbation: Perturbation) -> "LineBlocks | _Lattice":
    """How the ratios are written as monomials. Raises if the product would take gigabytes."""
    bits, changes = _count_bits(perturbation), sum(count for _, count in perturbation)
    check_size(bits, _POWERS, changes)
    if sum(len(block.finite) for block, _ in perturbation) > _MOST_RATIOS:
        allowed = f"of coordinates whose kinds show at most {_MOST_RATIOS:,} outcomes together"
        raise InvalidInput("budget", allowed, changes)
    layout = _lay_out(tuple(block for block, _ in perturbation))
    check_size(bits + layout.bits_of_order, layout.count([count for _, count in perturbation]), changes)
    return layout


def measure_product(perturbation: Perturbation) -> ProductSize:
    """What decides how long a product takes, without multiplying anything. Raises if it would take gigabytes."""
    perturbation = _simplify(perturbation)
    layout = _lay_out_checked(perturbation)
    counts, bits = [count for _, count in perturbation], _count_bits(perturbation)
    if isinstance(layout, LineBlocks):
        return ProductSize(layout.count(counts), bits, on_line=True)
    return ProductSize(layout.count_closely(counts), bits, on_line=False)


def _measure(arithmetic: _Arithmetic, perturbation: Perturbation, product: tuple[Any, Any]) -> int:
    """About how many bytes a product has."""
    return sum(map(len, product)) * arithmetic.measure_number(_count_bits(perturbation))


def _multiply_units(perturbation: Perturbation) -> Any:
    """The total of a product."""
    return prod((fmpz(block.z) ** count for block, count in perturbation), start=fmpz(1))


def _count_bits(perturbation: Perturbation) -> int:
    """Bits of the total of a product."""
    return sum(count * block.z.bit_length() for block, count in perturbation)


def check_size(bits: int, numbers: int, changes: int) -> None:
    """Raise if so many numbers of so many bits would take gigabytes, and minutes or hours."""
    if bits * numbers > _MOST_BITS:
        raise InvalidInput("budget", "of fewer changes: their product would take gigabytes", changes)


def _with_ends(finite: Iterable[Masses], perturbation: Perturbation, total: Any) -> Iterator[Masses]:
    """The regions with those of ratio ∞ before and those of ratio 0 after them."""
    if missing := total - _multiply_sums(perturbation, 0):
        yield missing, 0
    yield from finite
    if missing := total - _multiply_sums(perturbation, 1):
        yield 0, missing


def _multiply_sums(perturbation: Perturbation, side: int) -> Any:
    """The mass under x or under x̄ of all outcomes of finite ratio."""
    powers = (fmpz(sum(pair[side] for pair in block.finite)) ** count for block, count in perturbation)
    return prod(powers, start=fmpz(1))


class _Lattice(MassPolynomials):
    """Blocks whose ratios need more than one direction: a variable for each integer of the base."""

    def __init__(
        self, base: Sequence[int], blocks: Sequence[Block], exponents: Sequence[Sequence[tuple[int, ...]]]
    ) -> None:
        self._base = tuple(base)
        self.bits_of_order = _EXPONENT_BITS * len(base)
        self._exponents = exponents
        context = fmpz_mpoly_ctx.get([f"g{place}" for place in range(len(base))], Ordering.lex)
        self.one = context.from_dict({(0,) * len(base): 1})
        self.polynomials = []
        for block, own in zip(blocks, exponents, strict=True):
            low = [min(column) for column in zip(*own, strict=True)]  # shifts all ratios of the product alike
            x: dict[tuple[int, ...], int] = {}
            xbar: dict[tuple[int, ...], int] = {}
            for exponent, (mass, mass_xbar) in zip(own, block.finite, strict=True):
                monomial = tuple(e - least for e, least in zip(exponent, low, strict=True))
                x[monomial] = x.get(monomial, 0) + mass
                xbar[monomial] = xbar.get(monomial, 0) + mass_xbar
            self.polynomials.append((context.from_dict(x), context.from_dict(xbar)))

    def count(self, counts: Sequence[int]) -> int:
        """At least as many as a product of so many of each block has regions.

        Of a block with m ratios, n coordinates show one of C(n+m−1, m−1) choices. And as the exponents of all regions
        lie in a lattice of some rank, as many of them that are independent tell regions apart.
        """
        choices = self._count_choices(counts)
        return choices if choices <= _FEW else self.count_closely(counts)

    def count_closely(self, counts: Sequence[int]) -> int:
        """`count`, which takes the first bound where it is small."""
        choices, entries = self._count_choices(counts), sum(map(len, self._exponents)) * len(self._base)
        return choices if entries > _MANY_EXPONENTS else min(choices, _count_cells(self._exponents, counts))

    def _count_choices(self, counts: Sequence[int]) -> int:
        pairs = zip(counts, self._exponents, strict=True)
        return prod(comb(count + len(own) - 1, count) for count, own in pairs if own)

    def order(self, x: Any, xbar: Any) -> Iterable[Masses]:
        monomials = [tuple(map(int, monomial)) for monomial in x.monoms()]
        masses = list(zip(x.coeffs(), xbar.coeffs(), strict=True))  # every monomial has mass under both
        return (masses[place] for place in _descending(self._base, monomials))


def _count_cells(exponents: Sequence[Sequence[tuple[int, ...]]], counts: Sequence[int]) -> int:
    """How many different values some independent exponents can have in a product: a box that holds all regions."""
    steps = [[tuple(e - first for e, first in zip(each, own[0], strict=True)) for each in own] for own in exponents]
    columns = []
    for column in zip(*(step for own in steps for step in own), strict=True):
        if unit := gcd(*column):
            values = iter(column)
            ranges = [[next(values) for _ in own] for own in steps]
            width = sum(count * (max(own) - min(own)) for count, own in zip(counts, ranges, strict=True) if own)
            columns.append((width // unit + 1, [Fraction(e) for e in column]))
    cells, reduced = 1, list[tuple[int, list[Fraction]]]()
    for width, entries in sorted(columns):
        left = entries
        for pivot, known in reduced:
            if factor := left[pivot]:
                left = [a - factor * b for a, b in zip(left, known, strict=True)]
        if any(left):  # independent of those before
            pivot = next(place for place, e in enumerate(left) if e)
            reduced.append((pivot, [e / left[pivot] for e in left]))
            cells *= width
    return cells


@lru_cache(maxsize=1_024)
def _lay_out(blocks: tuple[Block, ...]) -> LineBlocks | _Lattice:
    """How the blocks' ratios are written as monomials."""
    ratios = [[Fraction(x, xbar) for x, xbar in block.finite] for block in blocks]
    base = coprime_base(part for own in ratios for ratio in own for part in (ratio.numerator, ratio.denominator))
    exponents = [[write_exponents(ratio, base) for ratio in own] for own in ratios]
    steps = [
        [tuple(e - first for e, first in zip(each, own[0], strict=True)) for each in own] for own in exponents
    ]  # from the first outcome of the block: what counts for the order of the product
    direction = next((step for own in steps for step in own if any(step)), None)
    if direction is None:
        return _make_line(blocks, [[0] * len(own) for own in steps])
    common = gcd(*direction)
    unit = tuple(e // common for e in direction)
    if _power_product(base, unit) < 1:
        unit = tuple(-e for e in unit)
    places = [[_multiple(step, unit) for step in own] for own in steps]
    along = [[t for t in own if t is not None] for own in places]
    if any(len(kept) < len(own) for kept, own in zip(along, places, strict=True)):
        return _Lattice(base, blocks, exponents)
    widest = gcd(*(t for own in along for t in own))
    return _make_line(blocks, [[t // widest for t in own] for own in along])


def _make_line(blocks: Sequence[Block], places: Sequence[Sequence[int]]) -> LineBlocks:
    return LineBlocks([block.finite for block in blocks], places, [block.z for block in blocks])


def coprime_base(numbers: Iterable[int]) -> tuple[int, ...]:
    """Pairwise coprime integers above 1 of which every given number is a product of powers.

    Any two that share a factor are split by it until none do. Their powers are independent: ∏ g_i^e_i = 1 only if all
    e_i = 0, since no prime divides two of them.
    """
    base: list[int] = []
    waiting = sorted(set(numbers) - {1})
    while waiting:
        number = waiting.pop()
        for place, known in enumerate(base):
            if (common := gcd(number, known)) > 1:
                del base[place]
                waiting += [part for part in (number // common, common, known // common) if part > 1]
                break
        else:
            base.append(number)
    return tuple(sorted(base))


def write_exponents(ratio: Fraction, base: Sequence[int]) -> tuple[int, ...]:
    """A ratio as a product of powers of a coprime base."""
    return tuple(_count_factor(ratio.numerator, each) - _count_factor(ratio.denominator, each) for each in base)


def _count_factor(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return count


def _power_product(base: Sequence[int], exponents: Sequence[int]) -> Fraction:
    return prod((Fraction(g) ** e for g, e in zip(base, exponents, strict=True)), start=Fraction(1))


def _multiple(step: Sequence[int], unit: Sequence[int]) -> int | None:
    """The t with step = t·unit, for a unit whose entries have no common factor; None if there is none."""
    place = next(place for place, e in enumerate(unit) if e)
    t = step[place] // unit[place]
    return t if all(e == t * u for e, u in zip(step, unit, strict=True)) else None


def _descending(base: Sequence[int], monomials: Sequence[tuple[int, ...]]) -> list[int]:
    """The places of the monomials in descending order of ∏ g_i^e_i, proved."""
    bits = _FIRST_BITS
    most = max(map(sum, monomials), default=0)  # exponents are not negative, and each logarithm is off by less than 1
    while True:
        logs = _scaled_logs(tuple(base), bits)
        keys = [sum(e * log for e, log in zip(monomial, logs, strict=True)) for monomial in monomials]
        places = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        if all(keys[first] - keys[second] > most for first, second in pairwise(places)):
            return places
        bits *= 2


@lru_cache(maxsize=1_024)
def _scaled_logs(base: tuple[int, ...], bits: int) -> tuple[int, ...]:
    """⌊log g·2^bits⌋ or one less."""
    with precision(bits + 64):
        return tuple(int(bounds(arb(fmpz(g)).log() * fmpz(1 << bits))[0] // 1) for g in base)
