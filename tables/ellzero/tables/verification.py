"""Verification: is every row of a table what exact arithmetic gives?

Every byte, key, order and flag is checked, and min_p of every row against its threshold. Rows are recomputed one by
one, all of them or a random share, without the recurrence over r by which they were first computed; those of other
families than the discrete noise by the general product of their blocks, each from the beginning.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from ellzero.certificates import Discrete, PaperThreshold, Threshold, threshold_rows
from ellzero.certificates.budget_thresholds import (
    is_saturated_within,
    least_double_above,
    row_at_saturation,
    row_by_product,
)
from ellzero.certificates.exact_thresholds import compute_at
from ellzero.certificates.rounding import DOUBLE_BITS, Row, RowQuery
from ellzero.core.errors import InvalidInput
from ellzero.core.text import count_noun
from ellzero.tables.errors import Contradiction, DamagedShard
from ellzero.tables.format import shard
from ellzero.tables.format.keys import ColumnKey, describe_key, row_axis
from ellzero.tables.format.rows import DIGITS, SCALE, ColumnSlice, End, merge_slices
from ellzero.tables.store import digest_of
from ellzero.tables.table import Table

_UP = Context(prec=3, rounding=ROUND_CEILING)
# May wrap the iteration over slices and the names of their shards, to show progress.
Watch: TypeAlias = Callable[[Iterable[tuple[str, ColumnSlice]]], Iterable[tuple[str, ColumnSlice]]]


@dataclass
class VerificationReport:
    """What was checked, and every problem. ``share`` is the probability with which each row was recomputed.

    ``digests`` are those of the shards that `verify` has read, sorted; other comparisons leave it empty.
    """

    shards: int = 0
    columns: int = 0
    rows: int = 0
    recomputed: int = 0
    problems: list[str] = field(default_factory=list)
    how: str = "recomputed"
    share: float = 1.0
    digests: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Nothing was wrong."""
        return not self.problems

    def __str__(self) -> str:
        columns, shards = count_noun(self.columns, "column"), count_noun(self.shards, "shard")
        summary = f"{count_noun(self.rows, 'row')} of {columns} in {shards}, {self.recomputed:,} {self.how}"
        if self.share < 1:
            share = Decimal(repr(self.share)).normalize()
            escape = _UP.subtract(Decimal(1), share).normalize()
            summary += f"; with a share of {share:f}, a single wrong row escapes with probability {escape:f}"
        return (
            f"sound: {summary}"
            if self.sound
            else f"NOT SOUND: {count_noun(len(self.problems), 'problem')} in {summary}"
        )


def verify(table: Table, share: float = 0.01, seed: int = 0, watch: Watch = iter) -> VerificationReport:
    """Check everything; recompute each row with probability ``share``, and the first and last row of every slice.

    A wrong row that is consistent with its min_p and its neighbours is noticed only if it is recomputed, so only
    ``share=1``, or a signed manifest, protects against shards that somebody has written with intent.
    """
    return table.store.retry_reading(lambda: _verify_once(table, share, seed, watch))


def _verify_once(table: Table, share: float, seed: int, watch: Watch) -> VerificationReport:
    names = table.store.names()
    report = VerificationReport(shards=len(names), share=share)
    readable: list[str] = []
    source = np.random.default_rng(seed)
    for name, piece in watch(_read_slices(table, names, readable, report)):
        positions = source.random(len(piece.rows)) < share
        positions[[0, -1]] = True
        report.recomputed += int(positions.sum())
        flaws = [*_find_flaws(piece), *_find_differences(piece, np.flatnonzero(positions).tolist())]
        report.problems.extend(f"shard {name}: {describe_key(piece.key)}{flaw}" for flaw in flaws)
    report.digests = sorted(set(map(digest_of, readable)))
    for key, slices in table.iter_columns(readable):
        report.columns += 1
        try:
            runs = merge_slices(slices)
        except Contradiction as error:
            report.problems.append(str(error))
            report.problems.extend(_find_wrong_rows(table, readable, key))
            continue
        report.rows += sum(len(run.rows) for run in runs)
        following = 0
        for run in runs:
            if run.first > following:
                report.problems.append(f"{describe_key(key)}: rows {following} to {run.first - 1} are missing")
            following = run.stop
    return report


def audit(rows: Iterable[PaperThreshold], table: Table) -> VerificationReport:
    """Compare rows by the published algorithm with those of a table: τ_r ≤ row ≤ τ_r + its error bound."""
    columns = table.columns()
    report = VerificationReport(
        shards=len(table.store.names()), columns=len(columns), how="compared with the paper's algorithm"
    )
    for row in rows:
        report.rows += 1
        runs = columns.get(row.noise, [])
        run = next((run for run in runs if run.first <= row.r < run.stop), None)
        if run is not None:
            ceiling = run.threshold(row.r).value
        elif runs and runs[-1].end is not End.CUT and row.r >= runs[-1].stop:
            ceiling = runs[-1].threshold(runs[-1].stop - 1).value  # all further ones are the same
        else:
            report.problems.append(f"{describe_key(row.noise)}, r = {row.r}: the table has no such row")
            continue
        report.recomputed += 1
        if not 0 <= Fraction(row.value) - Fraction(ceiling) <= Fraction(row.error_bound):
            values = f"{row.value} by the paper's algorithm, {ceiling} in the table"
            report.problems.append(f"{describe_key(row.noise)}, d = {row.d}, r = {row.r}: {values}")
    return report


def compare_tables(table: Table, other: Table) -> VerificationReport:
    """Compare the rows that two tables of thresholds have in common, which must be the same in every field."""
    report = VerificationReport(shards=len(table.store.names()) + len(other.store.names()), how="the same in both")
    mine, theirs = table.columns(), other.columns()
    for key in mine.keys() & theirs.keys():
        pairs = product(mine[key], theirs[key])
        shared = sum(max(0, min(left.stop, right.stop) - max(left.first, right.first)) for left, right in pairs)
        report.columns += bool(shared)
        report.rows += shared
        try:
            merge_slices([*mine[key], *theirs[key]])
            report.recomputed += shared
        except Contradiction as error:
            report.problems.append(str(error))
    if not report.rows:
        report.problems.append("the tables share no rows")
    return report


class JudgedRow(NamedTuple):
    """A row of a threshold list beside the exact value.

    ``least`` is ⌈τ_r⌉ with as many digits as ``value`` has, so short decimals are judged fairly, and ``units`` their
    difference in units of the last digit. ``float_below`` says that ``float(value)`` is below τ_r.
    """

    r: int
    value: Decimal
    least: Decimal
    units: int
    exact: bool
    float_below: bool

    @property
    def verdict(self) -> Literal["unsound", "equal", "loose"]:
        """Below τ_r, equal to ⌈τ_r⌉, or above it."""
        return "unsound" if self.units < 0 else "equal" if self.units == 0 else "loose"


def judge_list(noise: Discrete, rows: Iterable[tuple[int, Decimal]]) -> list[JudgedRow]:
    """The rows of a threshold list beside the exact values, in the order given."""
    by_digits: dict[int, dict[int, tuple[int, Decimal]]] = {}
    for place, (r, value) in enumerate(rows):
        by_digits.setdefault(max(1, -int(value.as_tuple().exponent)), {})[place] = (r, value)
    judged: dict[int, JudgedRow] = {}
    for digits, group in by_digits.items():
        exact_rows = threshold_rows(noise, [r for r, _ in group.values()], digits)
        for (place, (r, value)), row in zip(group.items(), exact_rows, strict=True):
            units = int((Fraction(value) - Fraction(row.value)) * 10**digits)
            judged[place] = JudgedRow(r, value, row.value, units, row.exact, _is_float_below(row, float(value)))
    return [judged[place] for place in sorted(judged)]


def _is_float_below(row: Threshold, number: float) -> bool:
    """Whether a double is below τ_r: it is, or equals τ_r, if it is below the least double above τ_r."""
    if number >= row.min_p:
        return False
    (precise,) = threshold_rows(row.noise, [row.r], DOUBLE_BITS)  # so many decimals hold every double in [1/2, 1]
    return not (precise.exact and Fraction(precise.value) == Fraction(number))


def _read_slices(
    table: Table, names: list[str], readable: list[str], report: VerificationReport
) -> Iterator[tuple[str, ColumnSlice]]:
    """The slices of all shards that can be read, whose names are added to ``readable``; the others are problems."""
    for name in names:
        try:
            slices = shard.decode(name, table.store.read(name))
        except DamagedShard as error:
            report.problems.append(str(error))
            continue
        readable.append(name)
        if [shard.sort_key(piece) for piece in slices] != sorted({shard.sort_key(piece) for piece in slices}):
            report.problems.append(f"shard {name} is not sorted")
        for piece in slices:
            yield name, piece


def _find_wrong_rows(table: Table, names: list[str], key: ColumnKey) -> Iterator[str]:
    """Which of the shards that contradict each other is wrong, and in which rows of this column."""
    for name in names:
        for piece in shard.decode(name, table.store.read(name)):
            if piece.key == key:
                for flaw in _find_differences(piece, list(range(len(piece.rows)))):
                    yield f"shard {name}: {describe_key(key)}{flaw}"


def _find_differences(piece: ColumnSlice, positions: list[int]) -> Iterator[str]:
    """The rows at these positions that differ from what exact arithmetic gives."""
    for at in positions:
        row, count = piece.rows.row(at), piece.first + at
        try:
            if row != _recompute(piece.key, count, row.ceiling.units == SCALE):
                yield f", {row_axis(piece.key)} = {count}: not what exact arithmetic gives"
        except InvalidInput as error:
            yield f", {row_axis(piece.key)} = {count}: cannot be recomputed: {error}"


def _recompute(key: ColumnKey, count: int, may_be_saturated: bool) -> Row:
    """One row by itself, by a route other than that of whole columns.

    For one that rounds up to 1, smaller budgets may show that it does: its own product could take gigabytes.
    """
    if isinstance(key, Discrete):
        return compute_at(key, count, RowQuery(DIGITS))
    counts = key.counts(count)
    if may_be_saturated and is_saturated_within(key.family, counts, key.q, DIGITS):
        return row_at_saturation(key.family, counts, key.q, DIGITS)
    return row_by_product(key.family, counts, key.q, DIGITS)


def _find_flaws(piece: ColumnSlice) -> Iterator[str]:
    """What is wrong with the rows that shows without recomputing them."""
    rows = [piece.rows.row(at) for at in range(len(piece.rows))]
    units = [row.ceiling.units for row in rows]
    if any(not above.min_p >= below.min_p or above.ceiling < below.ceiling for below, above in pairwise(rows)):
        yield ": thresholds decrease"
    if SCALE in units[:-1]:
        yield ": continues after saturation"
    if piece.key.is_flat and (piece.first or len(units) > 1):
        yield ": is flat and has more than one row"
    for count, row in enumerate(rows, piece.first):
        if not _fits(row):
            yield f", {row_axis(piece.key)} = {count}: min_p does not fit the threshold"


def _fits(row: Row) -> bool:
    """Whether some τ has this row. τ is units/10^20, or lies in the open interval of 10^-20 below it."""
    (units, exact), double = row
    if not 0 <= units <= SCALE or exact:
        return 0 <= units <= SCALE and double == least_double_above(units, SCALE)
    most = 1.0 if units == SCALE else least_double_above(units, SCALE)
    return units > 0 and least_double_above(units - 1, SCALE) <= double <= most
