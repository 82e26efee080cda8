"""The metrics of certificates as cells of tables, with their bands of 95 % over inputs."""

from math import inf

from ellzero.experiments.result import Estimate
from ellzero.smoothing.runs.metrics import Accuracy, Report


def estimate_share(accuracy: Accuracy, paper: float | None = None) -> Estimate:
    """ACC@r."""
    return Estimate(accuracy.share, accuracy.low, accuracy.high, paper)


def estimate_mean(report: Report, paper: float | None = None) -> Estimate:
    """μ(R) without what is below 0 of its band: no radius is. No band where all radii are equal: the spread of so few
    says nothing."""
    mean, error = report.mean_radius, report.mean_radius_error
    if not 0 < error < inf:
        return Estimate(mean, paper=paper)
    return Estimate(mean, max(0.0, mean - error), mean + error, paper)
