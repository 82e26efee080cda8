from ellzero.core.errors import (
    ClusterRefused as ClusterRefused,
    ClusterUnreachable as ClusterUnreachable,
    WorkersLost as WorkersLost,
)
from ellzero.core.execution.executors import Executor as Executor, LocalExecutor as LocalExecutor
from ellzero.core.execution.ray_executor import RayExecutor as RayExecutor
from ellzero.precompute.cost import CostModel as CostModel, calibrate_cost_model as calibrate_cost_model
from ellzero.precompute.errors import NameTaken as NameTaken, UnknownJob as UnknownJob
from ellzero.precompute.family_grid import FamilyGrid as FamilyGrid, make_family_grid as make_family_grid
from ellzero.precompute.grid import GridSpec as GridSpec, make_grid as make_grid, read_grid as read_grid
from ellzero.precompute.jobs.cluster import Cluster as Cluster, ClusterJob as ClusterJob, Submission as Submission
from ellzero.precompute.plan import GridPlan as GridPlan, Task as Task, make_plan as make_plan
from ellzero.precompute.run import Summary as Summary, TaskReceipt as TaskReceipt, run_plan as run_plan
