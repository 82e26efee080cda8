"""Verification: is every row of a table what exact arithmetic gives?

Every byte, key, order and flag is checked, and min_p of every row against its threshold. Rows are recomputed by the
single-cell route, which shares no recurrence with the walk that made them: all of them, or a random share.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import TypeAlias

import numpy as np

from ellzero.certificates import Noise, PaperThreshold, thresholds
from ellzero.certificates.exact_thresholds import compute_at
from ellzero.certificates.rounding import DOUBLE_BITS, RowQuery
from ellzero.core.text import count_noun
from ellzero.tables.errors import Contradiction, DamagedShard
from ellzero.tables.format import shard
from ellzero.tables.format.rows import DIGITS, SCALE, ColumnSlice, End, merge_slices
from ellzero.tables.scan import columns_in_order
from ellzero.tables.table import Table

# Wraps the slices and the names of their shards on their way, to show progress.
Watch: TypeAlias = Callable[[Iterable[tuple[str, ColumnSlice]]], Iterable[tuple[str, ColumnSlice]]]


@dataclass
class VerificationReport:
    """What was looked at, and everything that was wrong."""

    shards: int = 0
    columns: int = 0
    rows: int = 0
    recomputed: int = 0
    problems: list[str] = field(default_factory=list)
    how: str = "recomputed"

    @property
    def sound(self) -> bool:
        """Nothing was wrong."""
        return not self.problems

    def __str__(self) -> str:
        columns, shards = count_noun(self.columns, "column"), count_noun(self.shards, "shard")
        held = f"{count_noun(self.rows, 'row')} of {columns} in {shards}"
        seen = f"{held}, {self.recomputed:,} {self.how}"
        return f"sound: {seen}" if self.sound else f"NOT SOUND: {count_noun(len(self.problems), 'problem')} in {seen}"


def verify(table: Table, share: float = 0.01, seed: int = 0, watch: Watch = iter) -> VerificationReport:
    """Check everything; recompute each row with probability ``share``, and the first and last row of every slice."""
    return table.store.retry_reading(lambda: _verdict_on(table, share, seed, watch))


def _verdict_on(table: Table, share: float, seed: int, watch: Watch) -> VerificationReport:
    names = table.store.names()
    verdict = VerificationReport(shards=len(names))
    whole: list[str] = []
    source = np.random.default_rng(seed)
    for name, piece in watch(_read_slices(table, names, whole, verdict)):
        chosen = source.random(len(piece.rows)) < share
        chosen[[0, -1]] = True
        verdict.recomputed += int(chosen.sum())
        flaws = [*_flaws(piece), *_differences(piece, np.flatnonzero(chosen).tolist())]
        verdict.problems.extend(f"shard {name}: {_name(piece.noise)}{flaw}" for flaw in flaws)
    for noise, slices in columns_in_order(table, whole):
        verdict.columns += 1
        try:
            runs = merge_slices(slices)
        except Contradiction as error:
            verdict.problems.append(str(error))
            verdict.problems.extend(_wrong_side(table, whole, noise))
            continue
        verdict.rows += sum(len(run.rows) for run in runs)
        reached = 0
        for run in runs:
            if run.first > reached:
                verdict.problems.append(f"{_name(noise)}: rows {reached} to {run.first - 1} are missing")
            reached = run.stop
    return verdict


def audit(rows: Iterable[PaperThreshold], table: Table) -> VerificationReport:
    """Compare rows by the paper's algorithm with those of a table: τ_r ≤ row ≤ τ_r + its error bound."""
    columns = table.columns()
    verdict = VerificationReport(
        shards=len(table.store.names()), columns=len(columns), how="compared with the paper's algorithm"
    )
    for row in rows:
        verdict.rows += 1
        runs = columns.get(row.noise, [])
        run = next((run for run in runs if run.first <= row.r < run.stop), None)
        if run is not None:
            ceiling = run.threshold(row.r).value
        elif runs and runs[-1].end is not End.CUT and row.r >= runs[-1].stop:
            ceiling = runs[-1].threshold(runs[-1].stop - 1).value  # all further ones are the same
        else:
            verdict.problems.append(f"{_name(row.noise)}, r = {row.r}: the table has no such row")
            continue
        verdict.recomputed += 1
        if not 0 <= Fraction(row.value) - Fraction(ceiling) <= Fraction(row.error_bound):
            values = f"{row.value} by the paper's algorithm, {ceiling} in the table"
            verdict.problems.append(f"{_name(row.noise)}, d = {row.d}, r = {row.r}: {values}")
    return verdict


def agree(table: Table, other: Table) -> VerificationReport:
    """Compare the rows that two tables of thresholds share, which must be the same in every field."""
    verdict = VerificationReport(shards=len(table.store.names()) + len(other.store.names()), how="the same in both")
    mine, theirs = table.columns(), other.columns()
    for noise in mine.keys() & theirs.keys():
        pairs = product(mine[noise], theirs[noise])
        shared = sum(max(0, min(one.stop, two.stop) - max(one.first, two.first)) for one, two in pairs)
        verdict.columns += bool(shared)
        verdict.rows += shared
        try:
            merge_slices([*mine[noise], *theirs[noise]])
            verdict.recomputed += shared
        except Contradiction as error:
            verdict.problems.append(str(error))
    if not verdict.rows:
        verdict.problems.append("the tables share no rows")
    return verdict


def compare_list(noise: Noise, listed: Iterable[tuple[int, Decimal]]) -> dict[str, list[int]]:
    """Which radii of a threshold list are ``unsound`` (below τ_r), ``equal`` (the least such decimal) or ``loose``.

    Each value is compared with ⌈τ_r⌉ at its own number of digits, so short decimals are judged fairly.
    """
    found: dict[str, list[int]] = {"unsound": [], "equal": [], "loose": []}
    by_digits: dict[int, list[tuple[int, Decimal]]] = {}
    for r, value in listed:
        by_digits.setdefault(max(1, -int(value.as_tuple().exponent)), []).append((r, value))
    for digits, rows in by_digits.items():
        for (r, value), least in zip(rows, thresholds(noise, [r for r, _ in rows], digits), strict=True):
            found["unsound" if value < least else "equal" if value == least else "loose"].append(r)
    return {verdict: sorted(radii) for verdict, radii in found.items()}


def _read_slices(
    table: Table, names: list[str], whole: list[str], verdict: VerificationReport
) -> Iterator[tuple[str, ColumnSlice]]:
    """The slices of all shards that can be read, whose names go to ``whole``; the others are problems."""
    for name in names:
        try:
            slices = shard.decode(name, table.store.read(name))
        except DamagedShard as error:
            verdict.problems.append(str(error))
            continue
        whole.append(name)
        if [shard.order(piece) for piece in slices] != sorted({shard.order(piece) for piece in slices}):
            verdict.problems.append(f"shard {name} is not sorted")
        for piece in slices:
            yield name, piece


def _wrong_side(table: Table, names: list[str], noise: Noise) -> Iterator[str]:
    """Which of the shards that contradict each other about a noise is wrong, and where."""
    for name in names:
        for piece in shard.decode(name, table.store.read(name)):
            if piece.noise == noise:
                for flaw in _differences(piece, list(range(len(piece.rows)))):
                    yield f"shard {name}: {_name(noise)}{flaw}"


def _differences(piece: ColumnSlice, chosen: list[int]) -> Iterator[str]:
    """Rows that the single-cell route does not give."""
    query = RowQuery(DIGITS)
    for at in chosen:
        row = compute_at(piece.noise, piece.first + at, query)
        stored = (piece.rows.scaled_ceiling(at), bool(piece.rows.exact[at]), float(piece.rows.min_p[at]))
        if (row.ceiling.units, row.ceiling.exact, row.min_p) != stored:
            yield f", r = {piece.first + at}: not what exact arithmetic gives"


def _flaws(piece: ColumnSlice) -> Iterator[str]:
    """What is wrong with rows by themselves."""
    units = [piece.rows.scaled_ceiling(at) for at in range(len(piece.rows))]
    min_p = piece.rows.min_p
    if any(one > next_one for one, next_one in pairwise(units)) or bool((np.diff(min_p) < 0).any()):
        yield ": thresholds fall"
    if SCALE in units[:-1]:
        yield ": goes on after saturation"
    if piece.noise.is_flat and (piece.first or len(units) > 1):
        yield ": is flat and has more than one row"
    # τ lies in (unit − 1, unit]/10^20, and min_p is the double after ⌊τ·2^53⌋/2^53.
    for at, (unit, double) in enumerate(zip(units, (min_p * 2.0**DOUBLE_BITS).tolist(), strict=True)):
        least, most = (((unit - 1) << DOUBLE_BITS) // SCALE + 1, (unit << DOUBLE_BITS) // SCALE + 1)
        if not least <= double <= min(most, 1 << DOUBLE_BITS):
            yield f", r = {piece.first + at}: min_p does not fit the threshold"


def _name(noise: Noise) -> str:
    return f"K = {noise.k}, α = {noise.alpha}"
