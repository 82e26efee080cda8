"""Plans: what of a grid a table still lacks, cut into tasks of even cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ellzero.certificates import Discrete
from ellzero.precompute.cost import NOMINAL, CostModel, expected_bytes, expected_rows
from ellzero.precompute.grid import GridSpec
from ellzero.tables import Extent

# A task costs Ray a millisecond, and each makes a shard: neither many small ones nor a few that end unevenly.
_TASKS_A_WORKER = 32
_LEAST_SECONDS, _MOST_SECONDS = 0.5, 30.0


@dataclass(frozen=True, slots=True)
class ColumnWork:
    """Rows of one noise to compute: from ``first``, the first that the table lacks, to ``r_end`` or saturation.

    Plans hold many of these, so the noise is made on demand.
    """

    k: int
    alpha: Fraction
    first: int
    r_end: int

    @property
    def noise(self) -> Discrete:
        """The noise (K, α)."""
        return Discrete(self.k, self.alpha)


@dataclass(frozen=True)
class Task:
    """Columns that one worker computes and writes, in order of (K, α)."""

    columns: tuple[ColumnWork, ...]
    rows: int  # expected
    seconds: float  # expected


@dataclass(frozen=True)
class GridPlan:
    """The tasks, longest first so that workers end together, and what is expected of them."""

    tasks: tuple[Task, ...]
    columns_wanted: int
    columns_present: int

    @property
    def columns(self) -> int:
        """Columns to compute."""
        return sum(len(task.columns) for task in self.tasks)

    @property
    def rows(self) -> int:
        """Rows expected."""
        return sum(task.rows for task in self.tasks)

    @property
    def seconds(self) -> float:
        """Seconds of one core expected."""
        return sum(task.seconds for task in self.tasks)

    @property
    def size(self) -> int:
        """Bytes expected."""
        return expected_bytes(self.columns, self.rows)


def make_plan(grid: GridSpec, present: Mapping[Discrete, Extent], model: CostModel, workers: int) -> GridPlan:
    """Everything of the grid that is not present, in tasks.

    The same grid, table and number of workers give the same tasks, whatever the model was calibrated to: two runs of
    one command write the same shards.
    """
    missing = [
        ColumnWork(noise.k, noise.alpha, extent.rows if extent else 0, grid.r_end)
        for noise in grid.noises()
        for extent in [present.get(noise)]
        if extent is None or extent.lacks(grid.r_end)
    ]
    # A column that continues after its first rows is computed from r = 0 anyway.
    walked = [expected_rows(work.noise, work.r_end) for work in missing]
    tasks = [_task(missing[begin:end], walked[begin:end], model) for begin, end in _cuts(walked, workers)]
    return GridPlan(tuple(sorted(tasks, key=lambda task: -task.seconds)), len(grid), len(grid) - len(missing))


def _task(columns: list[ColumnWork], walked: list[int], model: CostModel) -> Task:
    rows = sum(max(1, rows - column.first) for column, rows in zip(columns, walked, strict=True))
    return Task(tuple(columns), rows, sum(map(model.seconds, walked)))


def _cuts(walked: list[int], workers: int) -> Iterator[tuple[int, int]]:
    """Consecutive columns gathered until they cost enough: neighbours share a shard, and tasks differ by a column."""
    costs = list(map(NOMINAL.seconds, walked))
    enough = min(max(sum(costs) / (workers * _TASKS_A_WORKER), _LEAST_SECONDS), _MOST_SECONDS)
    begin, gathered = 0, 0.0
    for end, cost in enumerate(costs, 1):
        gathered += cost
        if gathered >= enough or end == len(costs):
            yield begin, end
            begin, gathered = end, 0.0
