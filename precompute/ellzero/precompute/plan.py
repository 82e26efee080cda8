"""Plans: what of a grid a table still lacks, cut into tasks of even cost."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from ellzero.certificates import Discrete
from ellzero.precompute.budget_columns import BudgetWork
from ellzero.precompute.budget_cost import BudgetCost
from ellzero.precompute.cost import NOMINAL, CostModel, expected_bytes, expected_rows
from ellzero.precompute.family_grid import FamilyGrid, count_columns, fixed_counts
from ellzero.precompute.grid import GridSpec
from ellzero.tables import Extent
from ellzero.tables.format.keys import BudgetColumn, ColumnKey

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

    @property
    def columns(self) -> int:
        """One column."""
        return 1

    @property
    def last(self) -> int:
        """The largest radius."""
        return self.r_end

    def column_keys(self) -> Iterator[Discrete]:
        """The column, as one of many."""
        yield self.noise


@dataclass(frozen=True)
class Task:
    """Columns that one worker computes and writes, in their order."""

    columns: tuple[ColumnWork | BudgetWork, ...]
    rows: int  # expected
    seconds: float  # expected

    @property
    def column_count(self) -> int:
        """How many columns these are."""
        return sum(work.columns for work in self.columns)


@dataclass(frozen=True)
class GridPlan:
    """The tasks, longest first so that workers end together, and what is expected of them."""

    tasks: tuple[Task, ...]
    columns_wanted: int
    columns_present: int

    @property
    def columns(self) -> int:
        """Columns to compute."""
        return sum(task.column_count for task in self.tasks)

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


class _Missing(NamedTuple):
    """A column to compute, the rows and the nominal seconds that are expected of it."""

    work: ColumnWork | BudgetWork
    rows: int
    seconds: float


def make_plan(
    grid: GridSpec | FamilyGrid, present: Mapping[ColumnKey, Extent], model: CostModel, workers: int
) -> GridPlan:
    """Everything of the grid that is not present, in tasks.

    The same grid, table and number of workers give the same tasks, whatever the model was calibrated to: two runs of
    one command write the same shards.
    """
    missing = list(_list_radii(grid, present) if isinstance(grid, GridSpec) else _list_budgets(grid, present))
    tasks = [_task(missing[begin:end], model) for begin, end in _cuts([column.seconds for column in missing], workers)]
    return GridPlan(tuple(sorted(tasks, key=lambda task: -task.seconds)), len(grid), len(grid) - len(missing))


def _list_radii(grid: GridSpec, present: Mapping[ColumnKey, Extent]) -> Iterator[_Missing]:
    for noise in grid.noises():
        extent = present.get(noise)
        if extent is None or extent.lacks(grid.r_end):
            work = ColumnWork(noise.k, noise.alpha, extent.rows if extent else 0, grid.r_end)
            # A column that continues after its first rows is computed from r = 0 anyway.
            walked = expected_rows(noise, grid.r_end)
            yield _Missing(work, max(1, walked - work.first), NOMINAL.seconds(walked))


def _list_budgets(grid: FamilyGrid, present: Mapping[ColumnKey, Extent]) -> Iterator[_Missing]:
    for family in grid.families:
        limits = grid.limits(family)
        cost = BudgetCost(family, limits, grid.q)
        for place in range(count_columns(limits)):
            fixed = fixed_counts(limits, place)
            extent = present.get(BudgetColumn(family, grid.q, fixed)) if present else None
            if extent is None or extent.lacks(limits[-1]):
                first = extent.rows if extent else 0
                rows = max(1, cost.rows(fixed) - first)
                work = BudgetWork(family, grid.q, limits, place, place + 1, first)
                yield _Missing(work, rows, cost.seconds(fixed, rows))


def _task(missing: list[_Missing], model: CostModel) -> Task:
    works: list[ColumnWork | BudgetWork] = []
    for column in missing:
        joined = _join(works[-1], column.work) if works else None
        works[-1:] = [*works[-1:], column.work] if joined is None else [joined]
    seconds = sum(
        model.seconds(column.rows + column.work.first)
        if isinstance(column.work, ColumnWork)
        else column.seconds * model.row_seconds / NOMINAL.row_seconds
        for column in missing
    )
    return Task(tuple(works), sum(column.rows for column in missing), seconds)


def _join(work: ColumnWork | BudgetWork, following: ColumnWork | BudgetWork) -> BudgetWork | None:
    """Columns of budgets that are walked one after the other, as one."""
    if isinstance(work, BudgetWork) and isinstance(following, BudgetWork):
        joined = replace(work, stop=following.stop)
        if replace(joined, start=following.start) == following and work.stop == following.start:
            return joined
    return None


def _cuts(costs: list[float], workers: int) -> Iterator[tuple[int, int]]:
    """Consecutive columns gathered until they cost enough: neighbours share a shard, and tasks differ by a column."""
    enough = min(max(sum(costs) / (workers * _TASKS_A_WORKER), _LEAST_SECONDS), _MOST_SECONDS)
    begin, gathered = 0, 0.0
    for end, cost in enumerate(costs, 1):
        gathered += cost
        if gathered >= enough or end == len(costs):
            yield begin, end
            begin, gathered = end, 0.0
