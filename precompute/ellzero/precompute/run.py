"""Running a plan: the driver sends tasks to an executor, and each worker puts its columns into the table.

Rows never travel: a worker writes its shards and returns a receipt of a few bytes.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial as bind

from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.core.execution.executors import Executor
from ellzero.precompute.budget_columns import BudgetWork
from ellzero.precompute.plan import ColumnWork, GridPlan, Task
from ellzero.tables import ColumnSlice, Table
from ellzero.tables.format.rows import RowBuffer, slice_of
from ellzero.tables.format.shard import MOST_ROWS
from ellzero.tables.store import Store


@dataclass(frozen=True)
class TaskReceipt:
    """What a task has written. Only this returns to the driver: the rows are in the table already."""

    columns: int
    rows: int
    expected_rows: int
    expected_seconds: float
    shards: tuple[str, ...]
    engine_seconds: float


@dataclass
class Summary:
    """What a run has done so far."""

    rows: int = 0
    columns: int = 0
    shards: set[str] = field(default_factory=set)
    seconds: float = 0.0
    engine_seconds: float = 0.0
    expected_seconds: float = 0.0

    def add(self, receipt: TaskReceipt, elapsed: float) -> None:
        """Count one more task."""
        self.rows += receipt.rows
        self.columns += receipt.columns
        self.shards.update(receipt.shards)
        self.seconds = elapsed
        self.engine_seconds += receipt.engine_seconds
        self.expected_seconds += receipt.expected_seconds

    def compare_with_estimate(self) -> str:
        """How the time spent computing compares with what was expected: "14% less"."""
        percent = round(100 * (self.engine_seconds / self.expected_seconds - 1))
        return f"{abs(percent)}% {'less' if percent < 0 else 'more'}" if percent else "no more and no less"


def run_plan(
    plan: GridPlan, table: Table, executor: Executor, advance: Callable[[TaskReceipt, Summary], None], summary: Summary
) -> None:
    """Run all tasks of a plan, calling ``advance`` after each. Rows are durable before their task is counted.

    Whatever ends it early (an error, Ctrl-C, a kill), finished tasks stay, and the next plan begins after them.
    """
    start = time.perf_counter()
    with table.store.run_mark() as mark:
        work = bind(compute_task, uri=table.store.location, mark=mark)
        for receipt in executor.run(work, plan.tasks):
            summary.add(receipt, time.perf_counter() - start)
            advance(receipt, summary)


@dataclass
class _Clock:
    """Time spent in the engine, apart from encoding and writing."""

    seconds: float = 0.0

    def time(self, slices: Iterator[ColumnSlice]) -> Iterator[ColumnSlice]:
        """The slices, with the time that computing each of them takes added up."""
        while True:
            start = time.perf_counter()
            piece = next(slices, None)
            self.seconds += time.perf_counter() - start
            if piece is None:
                return
            yield piece


def compute_task(task: Task, uri: str, mark: str | None) -> TaskReceipt:
    """Compute a task on a worker, in bounded memory, into the table at ``uri``.

    Computed twice it writes the same shards, so it may be run again. ``mark`` is that of the run: a worker that does
    not see it has another directory than the rest, and refuses.
    """
    store, clock = Store(uri), _Clock()
    store.check_shared(mark)
    rows = 0

    def iter_slices() -> Iterator[ColumnSlice]:
        nonlocal rows
        for column in task.columns:
            for column_slice in clock.time(_compute_slices(column)):
                rows += len(column_slice.rows)
                yield column_slice

    shards = tuple(Table(store).append(iter_slices()))
    return TaskReceipt(
        columns=task.column_count,
        rows=rows,
        expected_rows=task.rows,
        expected_seconds=task.seconds,
        shards=shards,
        engine_seconds=clock.seconds,
    )


def _compute_slices(column: ColumnWork | BudgetWork) -> Iterator[ColumnSlice]:
    """The missing rows of a column, or of columns of budgets, in slices that fit memory."""
    if isinstance(column, BudgetWork):
        yield from column.slices()
        return
    noise = column.noise
    all_rows = enumerate(iter_column_rows(noise, column.r_end))
    first, more = column.first, True
    while more:
        buffer, more = RowBuffer(), False
        for r, row in all_rows:
            if r >= first:
                buffer.add(row)
                if len(buffer) == MOST_ROWS:
                    more = True
                    break
        if len(buffer):
            rows = buffer.rows()
            yield slice_of(noise, first, rows)
            first += len(rows)
