"""Thresholds τ_r = ρ_r⁻¹(1/2), exactly rounded up: single ones, lists and whole columns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

from ellzero.certificates import recurrence, single_threshold
from ellzero.certificates._balls import Undecided, arb, ball, bounds, fmpz, precision
from ellzero.certificates.lee2019 import paper_threshold
from ellzero.certificates.noise import Noise
from ellzero.certificates.rounding import (
    CeilingQuery,
    LeastDoubleQuery,
    Row,
    RowQuery,
    check_digits,
    decimal,
)
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_dimension, read_integer

T = TypeVar("T")
Method = Literal["engine", "paper"]

_EXACT_CELL_BITS = 4_096
# A radius of a column costs about four times a step of a single cell, which takes r of them.
_COLUMN_COST = 4


class Threshold(NamedTuple):
    """One row: a probability p certifies radius ``r`` iff p > τ_r.

    ``value`` is the least decimal ≥ τ_r with the digits asked for, and ``exact`` says that τ_r is that decimal.
    ``min_p`` is the least double > τ_r: a double p certifies r iff p ≥ min_p.
    """

    noise: Noise
    r: int
    value: Decimal
    exact: bool
    min_p: float


@dataclass(frozen=True)
class Column:
    """The thresholds of r = 0, 1, …, and whether they end because all further ones round up to 1."""

    noise: Noise
    digits: int
    rows: tuple[Threshold, ...]
    saturated: bool


def thresholds(
    noise: Noise, radii: Iterable[int], digits: int = 20, *, method: Method = "engine", d: int | None = None
) -> list[Decimal]:
    """⌈τ_r·10^digits⌉/10^digits for each radius, in the order given.

    The decimals are what exact arithmetic gives, for any r. With ``method="paper"`` they come from the paper's
    own algorithm for inputs of ``d`` coordinates instead: upper bounds within `lee2019.PaperThreshold.error_bound`.

    >>> thresholds(Noise(1, "4/5"), [1, 4], digits=5)
    [Decimal('0.87500'), Decimal('0.99275')]
    """
    wanted = [read_integer(r, "r", 0) for r in radii]
    digits = check_digits(digits)
    if d is not None:
        d = read_dimension(d)
        for r in wanted:
            read_integer(r, "r", 0, d)
    if method == "paper":
        if d is None:
            raise InvalidInput("d", "given for the paper's method, which works on the whole space", d)
        return [paper_threshold(noise, d, r, digits).value for r in wanted]
    if method != "engine":
        raise InvalidInput("method", "'engine' or 'paper'", method)
    ceilings = compute_many(noise, wanted, CeilingQuery(digits))
    return [decimal(ceilings[r].units, digits) for r in wanted]


def threshold_rows(noise: Noise, radii: Iterable[int], digits: int = 20) -> list[Threshold]:
    """`thresholds` with all there is to know of each: whether the decimal is exact, and the least double above τ_r."""
    wanted = [read_integer(r, "r", 0) for r in radii]
    digits = check_digits(digits)
    rows = compute_many(noise, wanted, RowQuery(digits))
    return [_threshold(noise, r, rows[r], digits) for r in wanted]


def column(noise: Noise, r_max: int | None = None, digits: int = 20) -> Column:
    """τ_0 … τ_{r_max}, ended early at the first that rounds up to 1: every later one does too, since τ_r never falls.

    A flat noise (α = β) has τ_r = 1/2 for every r and one row. 5 to 10 µs a radius, whatever r is.
    """
    digits = check_digits(digits)
    rows = tuple(iter_column(noise, r_max, digits))
    return Column(noise, digits, rows, saturated=rows[-1].value == 1)


def iter_column(noise: Noise, r_max: int | None = None, digits: int = 20) -> Iterator[Threshold]:
    """The rows of `column` as they are computed, in bounded memory."""
    for r, row in enumerate(iter_column_rows(noise, r_max, digits)):
        yield _threshold(noise, r, row, digits)


def iter_column_rows(noise: Noise, r_max: int | None = None, digits: int = 20) -> Iterator[Row]:
    """What `iter_column` is made of: integers and doubles, without the Decimals, for those who keep many rows."""
    end = column_end(noise, r_max, digits)
    for row in islice(recurrence.iter_answers(noise, RowQuery(check_digits(digits)), end), end + 1):
        yield row
        if row.ceiling.units == 10**digits:
            return


def iter_rows(noise: Noise, r_max: int, digits: int = 20) -> Iterator[Threshold]:
    """The rows of r = 0..r_max, all of them, in bounded memory; those that cannot change any more are not computed."""
    question = RowQuery(check_digits(digits))
    beyond = _saturated_answer(question)
    last = min(read_integer(r_max, "r_max", 0), _bound_of(noise, question))
    r, row = 0, beyond
    for r, row in enumerate(islice(recurrence.iter_answers(noise, question, last), last + 1)):
        yield _threshold(noise, r, row, digits)
        if row == beyond:
            break
    for further in range(r + 1, r_max + 1):
        yield _threshold(noise, further, row, digits)


def _threshold(noise: Noise, r: int, row: Row, digits: int) -> Threshold:
    return Threshold(noise, r, decimal(row.ceiling.units, digits), row.ceiling.exact, row.min_p)


def column_end(noise: Noise, r_max: int | None, digits: int) -> int:
    """A radius that the column certainly does not go beyond."""
    bound = saturation_bound(noise, digits)
    return bound if r_max is None else min(bound, read_integer(r_max, "r_max", 0))


def min_p(noise: Noise, r: int) -> float:
    """The least double that certifies radius r: the least double > τ_r. Exact; 1.0 when no smaller one does."""
    return compute_at(noise, read_integer(r, "r", 0), LeastDoubleQuery())


def saturation_bound(noise: Noise, digits: int) -> int:
    """A radius from which on τ_r > 1 − 10^-digits, so that every threshold rounds up to 1."""
    return radius_bound(noise, Fraction(1, 10 ** check_digits(digits)))


def radius_bound(noise: Noise, room: Fraction) -> int:
    """A radius from which on 1 − τ_r < room, proved by 1 − τ_r ≤ 2·B^(2r), B = (m + 2√(ab))/z = 1 − (√a − √b)²/z.

    The first such radius is about 0.45 times it where room is small. 0 for a flat noise, which needs one row only.
    """
    if noise.is_flat:
        return 0
    a, _, b, z = noise.weights.descending
    with precision(64 + 4 * z.bit_length()):  # √a − √b cancels at most the bits of a
        missing = (arb(fmpz(a)).sqrt() - arb(fmpz(b)).sqrt()) ** 2 / fmpz(z)
        return int(bounds((ball(room) / 2).log() / (2 * (1 - missing).log()))[1]) + 1


def compute_at(noise: Noise, r: int, question: recurrence.ThresholdQuery[T]) -> T:
    """The answer for one radius: in exact integers where they are small, otherwise from a ball (Ziv's method)."""
    if noise.is_flat or r * noise.weights.z.bit_length() <= max(_EXACT_CELL_BITS, 4 * question.bits):
        return question.of_exact(*single_threshold.complement(noise, r))
    if r >= _bound_of(noise, question):
        return _saturated_answer(question)
    for guard in (64, 256):
        try:
            with precision(bits := question.bits + guard):
                return question.of_ball(single_threshold.complement_ball(noise, r, bits))
        except Undecided:
            continue
    return question.of_exact(*single_threshold.complement(noise, r))


def compute_many(noise: Noise, radii: Iterable[int], question: recurrence.ThresholdQuery[T]) -> dict[int, T]:
    """The answer for each of the radii, by the cheaper of single cells and one column."""
    wanted = sorted(set(radii))
    if noise.is_flat or not wanted or sum(wanted) <= _COLUMN_COST * wanted[-1]:
        return {r: compute_at(noise, r, question) for r in wanted}
    last = min(wanted[-1], _bound_of(noise, question))
    beyond = _saturated_answer(question)
    found = dict.fromkeys(wanted, beyond)
    for r, answer in enumerate(islice(recurrence.iter_answers(noise, question, last), last + 1)):
        if answer == beyond:
            break
        if r in found:
            found[r] = answer
    return found


def _bound_of(noise: Noise, question: recurrence.ThresholdQuery[T]) -> int:
    """A radius from which on the answer is that of `_saturated_answer`; 0 for a flat noise."""
    return radius_bound(noise, Fraction(1, 1 << question.bits))


def _saturated_answer(question: recurrence.ThresholdQuery[T]) -> T:
    """What every 1 − τ_r in (0, 2^-bits) is answered."""
    return question.of_exact(1, 2 << question.bits)


def estimate_radii(bound: int) -> int:
    """About where a column ends whose end is proved to lie within the bound, which is twice too large."""
    return int(0.46 * bound) + 1
