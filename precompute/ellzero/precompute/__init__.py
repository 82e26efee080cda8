"""From a grid to a table: plans, executors, and jobs on a cluster.

`make_grid`, `make_family_grid` or `read_grid` describes the grid, `make_plan` what of it a table lacks, and `run_plan`
computes that on a `LocalExecutor` or a `RayExecutor`. `Cluster` submits any ellzero command to a Ray cluster.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="tables")
