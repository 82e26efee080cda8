from ellzero.experiments.folder import ExperimentFolder as ExperimentFolder
from ellzero.experiments.result import (
    Estimate as Estimate,
    ExperimentResult as ExperimentResult,
    ResultColumn as ResultColumn,
    ResultTable as ResultTable,
)
