"""The paper's algorithm as map-reduce: the ranges of each cell on workers, their reduction here, a row a shard."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from ellzero.certificates import Noise, PaperThreshold
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


def wanted_cells(
    ks: Sequence[int], alphas: Sequence[Fraction | int], ds: Sequence[int], radii: Sequence[int]
) -> list[PaperCell]:
    """The cells of a grid, each once, cheap ones first."""
    count = prod(map(len, (ks, alphas, ds, radii)))
    if count > MOST_CELLS:
        raise InvalidInput("grid", f"of at most {MOST_CELLS:,} cells for the paper's method", count)
    cells = {PaperCell(Noise(k, alpha), d, r) for k in ks for alpha in alphas for d in ds for r in radii}
    return sorted(cells, key=lambda cell: (expected_seconds(cell), cell.noise.k, cell.noise.alpha, cell.d, cell.r))


def without_present(cells: Iterable[PaperCell], table: PaperTable) -> list[PaperCell]:
    """Those that the table lacks."""
    present = {(row.noise, row.d, row.r) for row in table.rows()}
    return [cell for cell in cells if (cell.noise, cell.d, cell.r) not in present]


def expected_seconds(cell: PaperCell) -> float:
    """About how long a cell takes on one core."""
    bits = cell.d * cell.noise.weights.z.bit_length()
    return cell.d * (cell.r + 1) * (cell.r + 2) * bits * _SECONDS_A_PRODUCT_BIT


def run_cells(
    cells: list[PaperCell],
    table: PaperTable,
    executor: Executor,
    done: Callable[[RangeTask, PaperThreshold | None], None],
) -> None:
    """Compute every cell and append its row when it is complete, calling ``done`` after each piece.

    Pieces are taken in the order of the cells, so that only the sums of one or two cells wait to be combined.
    """
    sums: dict[PaperCell, list[PartialSums]] = defaultdict(list)
    for piece, partial_sums in executor.run(_compute, _pieces(cells)):
        sums[piece.cell].append(partial_sums)
        row = None
        if len(sums[piece.cell]) == len(piece.cell.ranges()):
            row = combine(piece.cell, sums.pop(piece.cell), DIGITS)
            table.append([row])
        done(piece, row)


def _pieces(cells: Iterable[PaperCell]) -> Iterator[RangeTask]:
    return (RangeTask(cell, us) for cell in cells for us in cell.ranges())


def _compute(piece: RangeTask) -> tuple[RangeTask, PartialSums]:
    return piece, sum_range(piece.cell, piece.us)
