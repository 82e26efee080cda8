"""From a grid to a table: plans, executors, and jobs on a cluster.

`make_grid` or `read_grid` says what is wanted, `make_plan` what of it a table lacks, and `run_plan` computes that on a
`LocalExecutor` or a `RayExecutor`. `Cluster` submits any ellzero command to a Ray cluster.
"""

from ellzero.precompute.cost import CostModel, calibrated
from ellzero.precompute.errors import ClusterRefused, ClusterUnreachable, NameTaken, UnknownJob, WorkersLost
from ellzero.precompute.executors import Executor, LocalExecutor, RayExecutor
from ellzero.precompute.grid import GridSpec, make_grid, read_grid
from ellzero.precompute.jobs import Cluster, Job, Submission
from ellzero.precompute.plan import Plan, Task, make_plan
from ellzero.precompute.run import Summary, run_plan
from ellzero.precompute.work import Receipt

__all__ = [
    "Cluster",
    "ClusterRefused",
    "ClusterUnreachable",
    "CostModel",
    "Executor",
    "GridSpec",
    "Job",
    "LocalExecutor",
    "NameTaken",
    "Plan",
    "RayExecutor",
    "Receipt",
    "Submission",
    "Summary",
    "Task",
    "UnknownJob",
    "WorkersLost",
    "calibrated",
    "make_grid",
    "make_plan",
    "read_grid",
    "run_plan",
]
