"""ρ and ρ⁻¹ of a product whose ratios lie on a line, found by bisection instead of walking all regions.

Let m_0, m_1, … be the masses of the regions in descending order of ratio, under x or under x̄, M(y) = Σ m_k·y^k, and
U_k = m_k + m_{k+1} + … their tail sums. As U(y) = Σ U_k·y^k = (M(1) − y·M(y)) / (1−y), one coordinate more, which
multiplies M by the polynomial B of its block, makes them

    (M(1)·B(1) − y·M·B) / (1−y) = U·B + U_0·(B(1) − B) / (1−y).

The last factor has the coefficients b_{k+1} + b_{k+2} + …: all terms are positive, so that balls lose no accuracy. The
same formulas serve integers, where masses are in units of 1/total, and balls, where they are probabilities.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, TypeVar

from flint import arb_poly, fmpz_poly

from ellzero.certificates._balls import Undecided, arb, ball, fmpz, precision
from ellzero.certificates.neyman_pearson import Mass, RegionStream, divide

T = TypeVar("T")
Number: TypeAlias = Any
"""An integer of Python or FLINT, or a ball."""
Polynomial: TypeAlias = Any
"""Of integers, or of balls."""

_EXACT_BITS = 1_024  # of a total, up to which integers are as quick as balls
_GUARD_BITS = 48
_WORD_BITS = 64
_NUMBER_BYTES = 64  # of a number in a polynomial, besides its digits


class TailSums(NamedTuple):
    """U under x and under x̄. Ratios 0 and ∞ are left out: the rest of the mass has them."""

    x: Polynomial
    xbar: Polynomial

    def complement(self, q: Number, unit: Number, total: Number) -> tuple[Number, Number]:
        """1 − ρ⁻¹(q/unit) as numerator and denominator; `Undecided` if balls cannot tell the region of q.

        ρ⁻¹ takes regions until they have q under x̄, and the fraction of the last that is missing. What remains is
        whatever comes after, and a fraction of the last.
        """
        room = self.xbar[0] * unit - q * total  # under x̄ after those that are taken, without what x never shows
        if room <= 0:
            return 0, 1
        place = self._find_last(self.xbar, room, unit)
        x, after = self.x[place], self.x[place + 1]
        xbar, xbar_after = self.xbar[place], self.xbar[place + 1]
        mass = (xbar - xbar_after) * unit
        return after * mass + (x - after) * (room - xbar_after * unit), mass * total

    def rho(self, p: int, unit: int, total: int) -> tuple[int, int]:
        """ρ(p/unit) as numerator and denominator, from integers."""
        room = (unit - p) * total  # under x after those that are taken
        if self.x[0] * unit <= room:
            return 0, 1
        place = self._find_last(self.x, room + 1, unit)
        x, after = self.x[place], self.x[place + 1]
        xbar, xbar_after = self.xbar[place], self.xbar[place + 1]
        mass = (x - after) * unit
        return (self.xbar[0] - xbar) * mass + (xbar - xbar_after) * (x * unit - room), mass * total

    @staticmethod
    def _find_last(sums: Polynomial, room: Number, unit: Number) -> int:
        """The last place whose sum is at least room/unit, which the first is; it has mass."""
        place = bisect_left(range(len(sums)), True, key=lambda each: bool(sums[each] * unit < room)) - 1
        if place < 0 or not (sums[place] * unit >= room and sums[place + 1] * unit < room):
            raise Undecided
        return place


class _Factor(NamedTuple):
    """What one coordinate multiplies tail sums by: B, and (B(1) − B)/(1−y)."""

    block: Polynomial
    rest: Polynomial

    def times(self, sums: Polynomial) -> Polynomial:
        return sums * self.block + self.rest * sums[0]


class LineSums:
    """Multiplies tail sums, in integers if ``bits`` is 0, otherwise in balls of the precision that is set.

    ``blocks`` are the masses of each block under x and under x̄, by place on the line, in its own of the ``units``.
    """

    def __init__(self, blocks: Sequence[tuple[fmpz_poly, fmpz_poly]], units: Sequence[int], bits: int) -> None:
        self._bits = bits
        self._factors = [
            (self._make_factor(x, z), self._make_factor(xbar, z)) for (x, xbar), z in zip(blocks, units, strict=True)
        ]

    def multiply(self, counts: Sequence[int]) -> tuple[Polynomial, Polynomial]:
        """The sums of so many of each block."""
        x = y = self._make_polynomial([1])
        for count, (factor, factor_xbar) in zip(counts, self._factors, strict=True):
            x, y = x * factor.block**count, y * factor_xbar.block**count
        return self._make_polynomial(_sum_tails(x.coeffs())), self._make_polynomial(_sum_tails(y.coeffs()))

    def step(self, sums: tuple[Polynomial, Polynomial], place: int) -> tuple[Polynomial, Polynomial]:
        """The sums with one more of the block at this place."""
        (x, xbar), (factor, factor_xbar) = sums, self._factors[place]
        return factor.times(x), factor_xbar.times(xbar)

    def measure_number(self, bits: int) -> int:
        """About how many bytes a sum has, if the total has so many bits."""
        return (self._bits or bits) // 8 + _NUMBER_BYTES

    def _make_factor(self, masses: fmpz_poly, z: int) -> _Factor:
        if not self._bits:
            return _Factor(masses, fmpz_poly(_sum_tails(masses.coeffs())[1:]))
        probabilities = [arb(each) / fmpz(z) for each in masses.coeffs()]
        return _Factor(arb_poly(probabilities), arb_poly(_sum_tails(probabilities)[1:]))

    def _make_polynomial(self, coefficients: list[Any]) -> Polynomial:
        return arb_poly(coefficients) if self._bits else fmpz_poly(coefficients)


class MassPolynomials:
    """Multiplies the polynomials of masses, in integers."""

    one: Any
    polynomials: list[tuple[Any, Any]]

    def multiply(self, counts: Sequence[int]) -> tuple[Any, Any]:
        x, xbar = self.one, self.one
        for count, (block_x, block_xbar) in zip(counts, self.polynomials, strict=True):
            x, xbar = x * block_x**count, xbar * block_xbar**count
        return x, xbar

    def step(self, product: tuple[Any, Any], place: int) -> tuple[Any, Any]:
        (x, xbar), (block_x, block_xbar) = product, self.polynomials[place]
        return x * block_x, xbar * block_xbar

    def measure_number(self, bits: int) -> int:
        return bits // 8 + _NUMBER_BYTES


class LineBlocks(MassPolynomials):
    """Blocks whose ratios lie on a line: C/c^t with integers t ≥ 0 and c > 1. Regions are in the order of t."""

    one = fmpz_poly([1])
    bits_of_order = 0

    def __init__(
        self, blocks: Sequence[Sequence[tuple[int, int]]], places: Sequence[Sequence[int]], units: Sequence[int]
    ) -> None:
        """``blocks`` are the masses of each block under x and under x̄ in units of 1/z, ``places`` their exponents."""
        self.polynomials = []
        for block, own in zip(blocks, places, strict=True):
            high = max(own, default=0)
            x, xbar = ([0] * (high - min(own, default=0) + 1) for _ in range(2))
            for place, (mass, mass_xbar) in zip(own, block, strict=True):
                x[high - place] += mass
                xbar[high - place] += mass_xbar
            self.polynomials.append((fmpz_poly(x), fmpz_poly(xbar)))
        self._units = units
        self._sums: dict[int, LineSums] = {}

    def sums(self, bits: int) -> LineSums:
        """What multiplies tail sums, in balls of so many bits, or for 0 in integers."""
        if (sums := self._sums.get(bits)) is None:
            sums = self._sums[bits] = LineSums(self.polynomials, self._units, bits)
        return sums

    def count(self, counts: Sequence[int]) -> int:
        """The length of a product of so many of each block."""
        steps = (count * int(x.degree()) for count, (x, _) in zip(counts, self.polynomials, strict=True) if len(x))
        return 1 + sum(steps)

    @staticmethod
    def order(x: Any, xbar: Any) -> Iterable[tuple[Mass, Mass]]:
        return zip(x.coeffs(), xbar.coeffs(), strict=True)


class LineProduct:
    """A product whose ratios lie on a line: ρ and ρ⁻¹ are found by bisection in its tail sums."""

    def __init__(self, find_sums: Callable[[int], TailSums], read: Callable[[], RegionStream], total: Number) -> None:
        """``find_sums`` gives the sums in balls of so many bits, or for 0 in integers; ``read`` all regions."""
        self._find_sums = find_sums
        self._read = read
        self._total = total

    @property
    def regions(self) -> Iterable[tuple[Mass, Mass]]:
        return self._read().regions

    def listed(self) -> "LineProduct":
        return self

    def rho(self, p: Fraction) -> Fraction:
        return divide(*self._find_sums(0).rho(p.numerator, p.denominator, self._total))

    def inverse_parts(self, q: Fraction) -> tuple[Mass, Mass]:
        complement, unit = self._find_sums(0).complement(q.numerator, q.denominator, self._total)
        return unit - complement, unit

    def answer(self, q: Fraction, question: Callable[[Mass, Mass], T], bits: int) -> T:
        """The question of ρ⁻¹(q), as numerator and denominator; its answer must not fall, or not rise, with ρ⁻¹(q).

        Large products are enclosed, more closely than ``bits``, the resolution of the question: where both ends have
        the same answer, so has all that is between them. Otherwise it is answered in integers.
        """
        if self._total.bit_length() > max(_EXACT_BITS, 4 * bits):
            try:
                low, high = self._enclose(q, -(-(bits + _GUARD_BITS) // _WORD_BITS) * _WORD_BITS)
            except Undecided:
                pass
            else:
                if (answer := question(*low)) == question(*high):
                    return answer
        return question(*self.inverse_parts(q))

    def _enclose(self, q: Fraction, bits: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Fractions in [0, 1] between which ρ⁻¹(q) lies."""
        with precision(bits):
            numerator, denominator = self._find_sums(bits).complement(ball(q), 1, 1)
            complement = arb(numerator) / denominator
            if not complement.is_finite():
                raise Undecided
            return _subtract_from_one(complement.upper()), _subtract_from_one(complement.lower())


def _subtract_from_one(point: arb) -> tuple[int, int]:
    """One minus a number that is a bound on one in [0, 1], as numerator and denominator."""
    mantissa, exponent = point.man_exp()
    unit = fmpz(1) << max(0, -int(exponent))
    value = mantissa << max(0, int(exponent))
    return min(max(int(unit - value), 0), int(unit)), int(unit)


def _sum_tails(masses: list[Any]) -> list[Any]:
    return list(accumulate(reversed(masses)))[::-1]
