"""What a worker does: compute the columns of a task and put them into the table, in bounded memory."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.precompute.plan import ColumnWork, Task
from ellzero.tables import ColumnSlice, Table
from ellzero.tables.format.rows import RowBuffer, end_of
from ellzero.tables.format.shard import MOST_ROWS
from ellzero.tables.store import Store


@dataclass(frozen=True)
class TaskReceipt:
    """What became of a task. Only this travels back: the rows are in the table already."""

    columns: int
    rows: int
    expected_rows: int
    expected_seconds: float
    shards: tuple[str, ...]
    engine_seconds: float


@dataclass
class _Clock:
    """Time spent in the engine, apart from encoding and writing."""

    seconds: float = field(default=0.0)


def compute(task: Task, uri: str, mark: str | None) -> TaskReceipt:
    """Compute a task into the table at ``uri``. Doing it twice gives the same shards, so it may be done again.

    ``mark`` is that of the run: a worker that does not see it writes to another directory than the rest, and refuses.
    """
    store, clock = Store(uri), _Clock()
    store.check_shared(mark)
    rows = 0

    def slices_counted() -> Iterator[ColumnSlice]:
        nonlocal rows
        for column in task.columns:
            for part in _parts(column, clock):
                rows += len(part.rows)
                yield part

    shards = tuple(Table(store).append(slices_counted()))
    return TaskReceipt(
        columns=len(task.columns),
        rows=rows,
        expected_rows=task.rows,
        expected_seconds=task.seconds,
        shards=shards,
        engine_seconds=clock.seconds,
    )


def _parts(column: ColumnWork, clock: _Clock) -> Iterator[ColumnSlice]:
    """The missing rows of a column, in parts that fit memory."""
    noise = column.noise
    answers = enumerate(iter_column_rows(noise, column.r_end))
    first, more = column.first, True
    while more:
        buffer, more = RowBuffer(), False
        start = time.perf_counter()
        for r, row in answers:
            if r >= first:
                buffer.add(row)
                if len(buffer) == MOST_ROWS:
                    more = True
                    break
        clock.seconds += time.perf_counter() - start
        if len(buffer):
            rows = buffer.rows()
            yield ColumnSlice(noise, first, rows, end_of(noise, rows.scaled_ceiling(len(rows) - 1)))
            first += len(rows)
