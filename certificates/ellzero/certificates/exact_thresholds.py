"""Thresholds τ_r = ρ_r⁻¹(1/2), correctly rounded up: single ones, lists and whole columns."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, TypeVar

from ellzero.certificates import recurrence, single_threshold
from ellzero.certificates._balls import Undecided, arb, ball, bounds, fmpz, precision
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.rounding import (
    CeilingQuery,
    LeastDoubleQuery,
    Row,
    RowQuery,
)
from ellzero.core.numbers import read_digits, read_integer, scaled_decimal

T = TypeVar("T")

_EXACT_CELL_BITS = 4_096
# A radius of a column costs about four times a step of a single cell, which takes r of them.
_COLUMN_COST = 4


class Threshold(NamedTuple):
    """One row: a probability p certifies radius ``r`` iff p > τ_r.

    ``value`` is the least decimal ≥ τ_r with the requested digits, and ``exact`` says that τ_r is that decimal.
    ``min_p`` is the least double > τ_r: a double p certifies r iff p ≥ min_p.
    """

    noise: Discrete
    r: int
    value: Decimal
    exact: bool
    min_p: float


@dataclass(frozen=True)
class Column:
    """The thresholds of r = 0, 1, …, and whether they end because all further ones round up to 1."""

    noise: Discrete
    digits: int
    rows: tuple[Threshold, ...]
    saturated: bool


def thresholds(noise: Discrete, radii: Iterable[int], digits: int) -> list[Decimal]:
    """⌈τ_r·10^digits⌉/10^digits for each radius, in the order given: the decimals of exact arithmetic, for any r."""
    requested_radii = [read_integer(r, "r", 0) for r in radii]
    ceilings = compute_many(noise, requested_radii, CeilingQuery(read_digits(digits)))
    return [scaled_decimal(ceilings[r].units, digits) for r in requested_radii]


def threshold_rows(noise: Discrete, radii: Iterable[int], digits: int = 20) -> list[Threshold]:
    """`thresholds` as full rows: with whether the decimal is exact, and the least double above τ_r."""
    requested_radii = [read_integer(r, "r", 0) for r in radii]
    digits = read_digits(digits)
    rows = compute_many(noise, requested_radii, RowQuery(digits))
    return [_threshold(noise, r, rows[r], digits) for r in requested_radii]


def column(noise: Discrete, r_max: int | None = None, digits: int = 20) -> Column:
    """τ_0 … τ_{r_max}, ending early at the first that rounds up to 1: all later ones do too, since τ_r never decreases.

    A flat noise (α = β) has τ_r = 1/2 for every r, and one row. Takes 5 to 10 µs per radius, whatever r is.
    """
    digits = read_digits(digits)
    rows = tuple(iter_column(noise, r_max, digits))
    return Column(noise, digits, rows, saturated=rows[-1].value == 1)


def iter_column(noise: Discrete, r_max: int | None = None, digits: int = 20) -> Iterator[Threshold]:
    """The rows of `column` as they are computed, in bounded memory."""
    for r, row in enumerate(iter_column_rows(noise, r_max, digits)):
        yield _threshold(noise, r, row, digits)


def iter_column_rows(noise: Discrete, r_max: int | None = None, digits: int = 20) -> Iterator[Row]:
    """The rows of `iter_column` as integers and doubles, without Decimals, for callers that keep many rows."""
    end = column_end(noise, r_max, digits)
    for row in islice(recurrence.iter_answers(noise, RowQuery(read_digits(digits)), end), end + 1):
        yield row
        if row.ceiling.units == 10**digits:
            return


def iter_rows(noise: Discrete, r_max: int, digits: int = 20) -> Iterator[Threshold]:
    """All rows of r = 0..r_max, in bounded memory; those after saturation are repeated, not computed."""
    query = RowQuery(read_digits(digits))
    beyond = _answer_at_saturation(query)
    last = min(read_integer(r_max, "r_max", 0), _bound_of(noise, query))
    r, row = 0, beyond
    for r, row in enumerate(islice(recurrence.iter_answers(noise, query, last), last + 1)):
        yield _threshold(noise, r, row, digits)
        if row == beyond:
            break
    for further in range(r + 1, r_max + 1):
        yield _threshold(noise, further, row, digits)


def _threshold(noise: Discrete, r: int, row: Row, digits: int) -> Threshold:
    return Threshold(noise, r, scaled_decimal(row.ceiling.units, digits), row.ceiling.exact, row.min_p)


def column_end(noise: Discrete, r_max: int | None, digits: int) -> int:
    """A radius beyond which the column certainly does not extend."""
    bound = saturation_bound(noise, digits)
    return bound if r_max is None else min(bound, read_integer(r_max, "r_max", 0))


def min_p(noise: Discrete, r: int) -> float:
    """The least double that certifies radius r: the least double > τ_r. Exact; 1.0 if no smaller one does."""
    return compute_at(noise, read_integer(r, "r", 0), LeastDoubleQuery())


def saturation_bound(noise: Discrete, digits: int) -> int:
    """A radius from which on τ_r > 1 − 10^-digits, so that every threshold rounds up to 1."""
    return radius_bound(noise, Fraction(1, 10 ** read_digits(digits)))


def radius_bound(noise: Discrete, room: Fraction) -> int:
    """A radius from which on 1 − τ_r < room, proved by 1 − τ_r ≤ 2·B^(2r), B = (m + 2√(ab))/z = 1 − (√a − √b)²/z.

    The first such radius is about 0.45 times this bound if room is small. 0 for a flat noise, which needs one row only.
    """
    if noise.is_flat:
        return 0
    a, _, b, z = noise.weights.descending
    with precision(64 + 4 * z.bit_length()):  # √a − √b cancels at most the bits of a
        missing = (arb(fmpz(a)).sqrt() - arb(fmpz(b)).sqrt()) ** 2 / fmpz(z)
        return int(bounds((ball(room) / 2).log() / (2 * (1 - missing).log()))[1]) + 1


def compute_at(noise: Discrete, r: int, query: recurrence.ThresholdQuery[T]) -> T:
    """The answer for one radius: in exact integers where they are small, otherwise from a ball (Ziv's method)."""
    if noise.is_flat or r * noise.weights.z.bit_length() <= max(_EXACT_CELL_BITS, 4 * query.bits):
        return query.of_exact(*single_threshold.complement(noise, r))
    if r >= _bound_of(noise, query):
        return _answer_at_saturation(query)
    for guard in (64, 256):
        try:
            with precision(bits := query.bits + guard):
                return query.of_ball(single_threshold.complement_ball(noise, r, bits))
        except Undecided:
            continue
    return query.of_exact(*single_threshold.complement(noise, r))


def compute_many(noise: Discrete, radii: Iterable[int], query: recurrence.ThresholdQuery[T]) -> dict[int, T]:
    """The answer for each of the radii, by the cheaper of single cells and one column."""
    distinct = sorted(set(radii))
    if noise.is_flat or not distinct or sum(distinct) <= _COLUMN_COST * distinct[-1]:
        return {r: compute_at(noise, r, query) for r in distinct}
    last = min(distinct[-1], _bound_of(noise, query))
    beyond = _answer_at_saturation(query)
    answers = dict.fromkeys(distinct, beyond)
    for r, answer in enumerate(islice(recurrence.iter_answers(noise, query, last), last + 1)):
        if answer == beyond:
            break
        if r in answers:
            answers[r] = answer
    return answers


def _bound_of(noise: Discrete, query: recurrence.ThresholdQuery[T]) -> int:
    """A radius from which on the answer is that of `_saturated_answer`; 0 for a flat noise."""
    return radius_bound(noise, Fraction(1, 1 << query.bits))


def _answer_at_saturation(query: recurrence.ThresholdQuery[T]) -> T:
    """The answer for every 1 − τ_r in (0, 2^-bits)."""
    return query.of_exact(1, 2 << query.bits)


def estimate_radii(bound: int) -> int:
    """About where a column ends, given a proved bound on its end, which is about twice too large."""
    return int(0.46 * bound) + 1
