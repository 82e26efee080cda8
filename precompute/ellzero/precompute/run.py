"""Running a plan: tasks go to an executor, receipts come back, and everything finished is in the table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial as bind
from time import perf_counter

from ellzero.core.execution.executors import Executor
from ellzero.precompute.plan import GridPlan
from ellzero.precompute.worker import TaskReceipt, compute
from ellzero.tables import Table


@dataclass
class Summary:
    """What a run has done so far."""

    rows: int = 0
    columns: int = 0
    shards: set[str] = field(default_factory=set)
    seconds: float = 0.0
    engine_seconds: float = 0.0
    expected_seconds: float = 0.0
    # Of each task, the engine's time over what the cost model expected.
    ratios: list[float] = field(default_factory=list)

    def add(self, receipt: TaskReceipt, elapsed: float) -> None:
        """Count one more task."""
        self.rows += receipt.rows
        self.columns += receipt.columns
        self.shards.update(receipt.shards)
        self.seconds = elapsed
        self.engine_seconds += receipt.engine_seconds
        self.expected_seconds += receipt.expected_seconds
        self.ratios.append(receipt.engine_seconds / receipt.expected_seconds)

    def model_error(self) -> str:
        """How far off the cost model was, overall and for single tasks."""
        overall = self.engine_seconds / self.expected_seconds - 1
        return f"{overall:+.0%} in all, {min(self.ratios) - 1:+.0%} to {max(self.ratios) - 1:+.0%} a task"


def run_plan(
    plan: GridPlan, table: Table, executor: Executor, done: Callable[[TaskReceipt, Summary], None], summary: Summary
) -> None:
    """Do all tasks of a plan, calling ``done`` after each. Rows are durable before their task counts as done.

    Whatever ends it early (an error, Ctrl-C, a kill), finished tasks stay, and the next plan begins after them.
    """
    start = perf_counter()
    with table.store.run_mark() as mark:
        work = bind(compute, uri=table.store.location, mark=mark)
        for receipt in executor.run(work, plan.tasks):
            summary.add(receipt, perf_counter() - start)
            done(receipt, summary)
