"""What a worker does: compute the columns of a task and put them into the table, in bounded memory."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ellzero.certificates.engine import column_answers
from ellzero.precompute.plan import ColumnWork, Task
from ellzero.tables import Part, Table
from ellzero.tables.rows import RowBuffer, end_of
from ellzero.tables.shard import MOST_ROWS
from ellzero.tables.store import Store


@dataclass(frozen=True)
class Receipt:
    """What became of a task. Only this travels back: the rows are in the table already."""

    task: Task
    rows: int
    shards: tuple[str, ...]
    engine_seconds: float
    seconds: float


@dataclass
class _Clock:
    """Time spent in the engine, apart from encoding and writing."""

    seconds: float = field(default=0.0)


def compute(task: Task, uri: str, mark: str | None) -> Receipt:
    """Compute a task into the table at ``uri``. Doing it twice gives the same shards, so it may be done again.

    ``mark`` is that of the run: a worker that does not see it writes to another directory than the rest, and refuses.
    """
    start = time.perf_counter()
    store, clock = Store(uri), _Clock()
    store.check_shared(mark)
    rows = 0

    def counted() -> Iterator[Part]:
        nonlocal rows
        for column in task.columns:
            for part in _parts(column, clock):
                rows += len(part.rows)
                yield part

    shards = tuple(Table(store).append(counted()))
    return Receipt(task, rows, shards, clock.seconds, time.perf_counter() - start)


def _parts(column: ColumnWork, clock: _Clock) -> Iterator[Part]:
    """The missing rows of a column, in parts that fit memory."""
    answers = enumerate(column_answers(column.noise, column.r_end))
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
            end = end_of(column.noise, rows.unit(len(rows) - 1))
            yield Part(column.noise, first, rows, end)
            first += len(rows)
