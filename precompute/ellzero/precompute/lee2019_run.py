"""The paper's algorithm as map-reduce: the ranges of each cell on workers, their reduction here, one row per shard."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from ellzero.certificates import Discrete
from ellzero.certificates.lee2019 import PaperCell, PartialSums, combine, sum_range
from ellzero.core.errors import InvalidInput
from ellzero.core.execution.executors import Executor
from ellzero.tables import PaperTable
from ellzero.tables.format.rows import DIGITS

# Seconds for a bit of a product; docs/benchmarks.md. Only to say beforehand what the work costs.
_SECONDS_A_PRODUCT_BIT = 1.6e-11
MOST_CELLS = 100_000


class RangeTask(NamedTuple):
    """One range of one cell."""

    cell: PaperCell
    us: range

    @property
    def seconds(self) -> float:
        """About how long it takes on one core."""
        return expected_seconds(self.cell) * len(self.us) / (self.cell.d + 1)


def list_cells(
    ks: Sequence[int], alphas: Sequence[Fraction | int], ds: Sequence[int], radii: Sequence[int]
) -> list[PaperCell]:
    """The cells of a grid, each once, cheap ones first."""
    count = prod(map(len, (ks, alphas, ds, radii)))
    if count > MOST_CELLS:
        raise InvalidInput("grid", f"of at most {MOST_CELLS:,} cells for the paper's method", count)
    cells = {PaperCell(Discrete(k, alpha), d, r) for k in ks for alpha in alphas for d in ds for r in radii}
    return sorted(cells, key=lambda cell: (expected_seconds(cell), cell.noise.k, cell.noise.alpha, cell.d, cell.r))


def find_missing(cells: Iterable[PaperCell], table: PaperTable) -> list[PaperCell]:
    """The cells that the table lacks."""
    present = {(row.noise, row.d, row.r) for row in table.rows()}
    return [cell for cell in cells if (cell.noise, cell.d, cell.r) not in present]


def count_present(cells: Sequence[PaperCell], table: PaperTable) -> int:
    """How many of the cells the table has now."""
    return len(cells) - len(find_missing(cells, table))


def expected_seconds(cell: PaperCell) -> float:
    """About how long a cell takes on one core."""
    bits = cell.d * cell.noise.weights.z.bit_length()
    return cell.d * (cell.r + 1) * (cell.r + 2) * bits * _SECONDS_A_PRODUCT_BIT


class FinishedTask(NamedTuple):
    """A range that is done; ``cell_seconds`` are those of the whole cell on one core, if this was its last."""

    task: RangeTask
    cell_seconds: float | None


def run_cells(cells: list[PaperCell], table: PaperTable, executor: Executor) -> Iterator[FinishedTask]:
    """Compute every cell, yielding each task when it is done. A cell's row is in the table before its last is yielded.

    Tasks are run in the order of the cells, so that only the sums of one or two cells wait to be combined.
    """
    sums: dict[PaperCell, list[PartialSums]] = defaultdict(list)
    spent: dict[PaperCell, float] = defaultdict(float)
    for task, partial_sums, seconds in executor.run(_compute, _tasks(cells)):
        cell, cell_seconds = task.cell, None
        sums[cell].append(partial_sums)
        spent[cell] += seconds
        if len(sums[cell]) == len(cell.ranges()):
            start = time.perf_counter()
            row = combine(cell, sums.pop(cell), DIGITS)
            cell_seconds = spent.pop(cell) + time.perf_counter() - start
            table.append([row])
        yield FinishedTask(task, cell_seconds)


def _tasks(cells: Iterable[PaperCell]) -> Iterator[RangeTask]:
    return (RangeTask(cell, us) for cell in cells for us in cell.ranges())


def _compute(task: RangeTask) -> tuple[RangeTask, PartialSums, float]:
    start = time.perf_counter()
    partial_sums = sum_range(task.cell, task.us)
    return task, partial_sums, time.perf_counter() - start
