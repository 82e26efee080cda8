"""The discrete noise: what K and α mean, and the integers from which everything else is computed."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import NamedTuple

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer, read_shortest

MAX_K = 10**8
_LARGEST_PART = 2**63 - 1
_ALPHA = "a rational number strictly between 0 and 1, such as 0.8 or 4/5, whose parts fit 63 bits"


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


@dataclass(frozen=True, init=False, eq=False)
class Noise:
    """Keep a coordinate with probability α, otherwise move it to one of the K *other* values.

    ``k`` is the number of categories **minus one** (255 for bytes, 1 for bits), 1 ≤ K ≤ 10^8.
    ``alpha`` is the **total** probability of staying, a rational in (0, 1): "0.8", "4/5", a Fraction or a
    Decimal; a float is read as its shortest decimal. Each other value has probability β = (1−α)/K.
    """

    k: int
    alpha: Fraction

    def __init__(self, k: int, alpha: RationalLike) -> None:
        fraction = read_shortest(alpha, "alpha", _ALPHA)
        if not 0 < fraction < 1 or fraction.denominator > _LARGEST_PART:
            raise InvalidInput("alpha", _ALPHA, alpha)
        object.__setattr__(self, "k", read_integer(k, "k", 1, MAX_K))
        object.__setattr__(self, "alpha", fraction)

    def __eq__(self, other: object) -> bool:
        """Compares integers: comparing Fractions takes microseconds, and noises are keys of tables."""
        if not isinstance(other, Noise):
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

    def __repr__(self) -> str:
        return f"Noise(k={self.k}, alpha='{self.alpha}')"
