"""Lists of numbers as text, and the doubles that enclose them: nearly all radii follow from those.

0.9 as text is no double. But a number that rounds to the double x lies strictly between the doubles on either side of
x, and radii never fall as p grows. So if these two have the same radius it is the number's as well, and only the few
numbers that lie closer to a threshold than that have to be read exactly.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete
from ellzero.core.schemas import Source, combine_sources
from ellzero.tables import ThresholdIndex
from ellzero.tables.lookup.results import ABSTAIN

# float() and int() read more than `ellzero.core.numbers` does: other characters, signs after a slash, longer exponents.
_USUAL = b"0123456789.eE+-/,"
_MOST_SCALE = 1 << 1_000  # an integer below 2^53 over such a power of two is a normal double
_LONG_EXPONENT = re.compile(rb"[eE][+-]?[0-9]{5}")


class JsonNumbers(list[str]):
    """The texts of a list of JSON numbers, and the doubles nearest to them, which the parser of JSON has found."""

    def __init__(self, texts: Iterable[str], nearest: NDArray[np.float64]) -> None:
        super().__init__(texts)
        self.nearest = nearest


class Enclosure(NamedTuple):
    """Doubles with low ≤ number ≤ high; equal if the number is known to be that double.

    They are NaN for a number that does not round to a double strictly between 0 and 1, or rounds to 1/2: those need no
    rows as a rule, but the doubles beside them would.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Which of the numbers are enclosed."""
        return ~np.isnan(self.low)


class RadiiByDoubles(NamedTuple):
    """Radii, None to abstain, and the places of those that doubles do not decide; the source is that of the others."""

    radii: list[int | None]
    undecided: list[int]
    source: Source


def enclose(texts: Sequence[Any]) -> Enclosure | None:
    """Enclose numbers in doubles; None if not all are decimals or fractions in their usual form."""
    known: bool | NDArray[np.bool_] = False
    if isinstance(texts, JsonNumbers):
        nearest = texts.nearest.copy()
    elif set(map(type, texts)) != {str} or not _are_usual(joined := ",".join(texts)):
        return None
    else:
        try:
            nearest, known = _round_all(texts, joined)
        except (ValueError, ArithmeticError):
            return None
    nearest[(nearest <= 0) | (nearest == 0.5) | (nearest >= 1)] = np.nan
    below, above = np.nextafter(nearest, 0.0), np.nextafter(nearest, 1.0)
    return Enclosure(np.where(known, nearest, below), np.where(known, nearest, above))


def find_radii(index: ThresholdIndex, noise: Discrete, d: int, numbers: Enclosure) -> RadiiByDoubles:
    """Find the radii of enclosed numbers."""
    inside = numbers.inside
    low, high = index.radius(numbers.low[inside], noise, d), index.radius(numbers.high[inside], noise, d)
    radii, decided = np.full(len(inside), ABSTAIN, np.int32), inside.copy()
    radii[inside], decided[inside] = low.radii, low.radii == high.radii
    return RadiiByDoubles(
        [None if radius == ABSTAIN else radius for radius in radii.tolist()],
        np.flatnonzero(~decided).tolist(),
        combine_sources((low.source, high.source)),
    )


def _are_usual(joined: str) -> bool:
    if not joined.isascii():
        return False
    data = joined.encode()
    if data.translate(None, _USUAL) or b"/+" in data or b"/-" in data:
        return False
    return not ((b"e" in data or b"E" in data) and _LONG_EXPONENT.search(data))


def _round_all(texts: Sequence[str], joined: str) -> tuple[NDArray[np.float64], bool | NDArray[np.bool_]]:
    """Round to the nearest doubles, and say which numbers are known to be those."""
    if "/" not in joined:
        return np.fromiter(map(float, texts), np.float64, len(texts)), False
    doubles = _read_doubles(len(texts), joined)
    if doubles is not None:
        return doubles, True
    pairs = list(map(_round, texts))
    return np.array([nearest for nearest, _ in pairs]), np.array([known for _, known in pairs])


def _read_doubles(number: int, joined: str) -> NDArray[np.float64] | None:
    """The numbers if all are integers below 2^53 over powers of two, as clients write doubles: then none is rounded."""
    if joined.encode().translate(None, b"0123456789") != b"/," * (number - 1) + b"/":
        return None
    parts = joined.replace("/", ",").split(",")
    scales = {text: int(text) for text in set(parts[1::2])}
    if not all(map(_is_scale, scales.values())):
        return None
    above = np.fromiter(map(float, parts[::2]), np.float64, number)
    below = np.fromiter(map(scales.__getitem__, parts[1::2]), np.float64, number)
    return above / below if above.max() < 2.0**53 else None


def _is_scale(below: int) -> bool:
    return 0 < below <= _MOST_SCALE and below & (below - 1) == 0


def _round(text: str) -> tuple[float, bool]:
    """Round to the nearest double, as float() and the division of integers do, and say whether a fraction is it."""
    numerator, slash, denominator = text.partition("/")
    if not slash:
        return float(text), False
    above, below = int(numerator), int(denominator)
    return above / below, above < 1 << 53 and _is_scale(below)
