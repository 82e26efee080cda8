"""The discrete noise of the paper: what K and α mean, and the integers from which everything else is computed.

For two inputs at Hamming distance r, only the r coordinates in which they differ distinguish x from x̄. With
t = #(noisy coordinates equal to x) − #(equal to x̄) the likelihood ratio is (α/β)^t, and

    P_r(t) = [y^t] (a·y + m + b/y)^r      mass under x,  Σ_t P_r(t) = z^r
    P_r(−t)                               mass under x̄

with the integers a, m, b, z of `Weights`. 2r+1 regions, whatever d is (docs/mathematics.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import ClassVar, NamedTuple

from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.families.base import Counts, SingleBlock, read_parameter
from ellzero.certificates.neyman_pearson import RegionStream
from ellzero.certificates.products import Block, OrderedRegions, Products, check_size
from ellzero.core.cancellation import EXACT_STEPS, check_cancelled
from ellzero.core.numbers import RationalLike, read_integer

MAX_K = 10**8


class Weights(NamedTuple):
    """α : (K−1)β : β as coprime integers a : m : b, and their sum z.

    On a coordinate in which x and x̄ differ, the noisy value equals x with probability a/z, equals x̄ with
    probability b/z, and is one of the K−1 other values with probability m/z.
    """

    a: int
    m: int
    b: int
    z: int

    @property
    def descending(self) -> "Weights":
        """The same weights with a ≥ b. Exchanging a and b only reverses the order of the likelihood ratios."""
        return self if self.a >= self.b else Weights(self.b, self.m, self.a, self.z)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Discrete(SingleBlock):
    """Keep a coordinate with probability α, otherwise move it to one of the K *other* values.

    ``k`` is the number of categories **minus one** (255 for bytes, 1 for bits), 1 ≤ K ≤ 10^8.
    ``alpha`` is the **total** probability of staying, a rational in (0, 1): "0.8", "4/5", a Fraction or a
    Decimal; a float is read as its shortest decimal. Each other value has probability β = (1−α)/K.
    """

    name: ClassVar[str] = "discrete"
    k: int
    alpha: Fraction

    def __init__(self, k: int, alpha: RationalLike) -> None:
        fraction = read_parameter(alpha, "alpha")
        object.__setattr__(self, "k", read_integer(k, "k", 1, MAX_K))
        object.__setattr__(self, "alpha", fraction)

    def __eq__(self, other: object) -> bool:
        """Compares integers: comparing Fractions takes microseconds, and noises are keys of tables."""
        if not isinstance(other, Discrete):
            return NotImplemented
        mine, theirs = self.alpha, other.alpha
        return self.k == other.k and mine.numerator == theirs.numerator and mine.denominator == theirs.denominator

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Cached, since hashing a Fraction takes a microsecond."""
        return hash((self.k, self.alpha))

    @property
    def beta(self) -> Fraction:
        """The probability (1−α)/K of each other value."""
        return (1 - self.alpha) / self.k

    @property
    def is_flat(self) -> bool:
        """α = β: the noisy value is independent of the coordinate, so every p > 1/2 certifies radius d."""
        return self.weights.a == self.weights.b

    @cached_property
    def weights(self) -> Weights:
        """The integers a, m, b with a : m : b = α : (K−1)β : β."""
        stay, leave = self.alpha.numerator, self.alpha.denominator - self.alpha.numerator
        a, m, b = stay * self.k, (self.k - 1) * leave, leave
        common = gcd(a, b)  # divides m as well, a multiple of b
        return Weights(a // common, m // common, b // common, (a + m + b) // common)

    def ordered_regions(self, counts: Counts, products: Products) -> Iterator[OrderedRegions]:
        """Streamed by a recurrence instead of multiplied: nothing is kept, however large r is."""
        (r,) = counts
        if self.is_flat:
            yield RegionStream([(1, 1)], 1)
            return
        weights = self.weights.descending
        check_size(r * weights.z.bit_length(), 1, r)
        under_xbar = _stream_masses(weights._replace(a=weights.b, b=weights.a), r)
        regions = zip(_stream_masses(weights, r), under_xbar, strict=True)
        yield RegionStream(regions, int(mpz(weights.z) ** r))

    @cached_property
    def block(self) -> Block:
        """The noisy value is that of x, that of x̄, or one of the K − 1 others."""
        others = 1 - self.alpha - self.beta
        return Block([(self.alpha, self.beta), (self.beta, self.alpha), (others, others)])


def _stream_masses(weights: Weights, r: int) -> Iterator[int]:
    """P_r(r), P_r(r−1), …, P_r(−r), each from the two before it by the three-term recurrence

    a·(r−x+1)·P(x−1) = b·(r+x+1)·P(x+1) + m·x·P(x), an exact division by a small integer.
    """
    a, m, b, _ = weights
    upper, current = mpz(0), mpz(a) ** r
    yield current
    for x in range(r, -r, -1):
        if x % EXACT_STEPS == 0:
            check_cancelled()
        upper, current = current, divexact(b * (r + x + 1) * upper + m * x * current, a * (r - x + 1))
        yield current
