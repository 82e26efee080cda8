"""Exact certificates of ℓ0 robustness: pure functions on exact numbers.

Start with `Noise`, `thresholds` and `radius`; `votes` and `plan` deal with finite samples; `lemma` is the general
theory, and `paper` the published algorithm. Every result is what exact arithmetic gives, rounded to the safe side.
"""

from ellzero.certificates.anytime import anytime_lower_bound, anytime_radius
from ellzero.certificates.decision import Certificate, certify, radius
from ellzero.certificates.discrete import regions, rho, rho_inverse
from ellzero.certificates.elections import Bounds, bounds_from_counts, outvotes, radius_from_bounds, upper_bound
from ellzero.certificates.engine import Column, Threshold, column, min_p, saturation_bound, threshold_rows, thresholds
from ellzero.certificates.errors import EllzeroError, Inconsistent, InvalidInput, MissingExtra
from ellzero.certificates.gaussian import (
    alpha_for_sigma,
    gaussian_l0_radius,
    gaussian_l0_threshold,
    gaussian_l2_radius,
    sigma_for_alpha,
)
from ellzero.certificates.lemma import Region, Rho
from ellzero.certificates.noise import Noise
from ellzero.certificates.paper import PaperThreshold, paper_threshold
from ellzero.certificates.planning import Plan, plan
from ellzero.certificates.uniform import uniform_l1_radius, uniform_linf_radius
from ellzero.certificates.votes import Votes, lower_bound, min_count, radius_from_votes, reachable_radius

__all__ = [
    "Bounds",
    "Certificate",
    "Column",
    "EllzeroError",
    "Inconsistent",
    "InvalidInput",
    "MissingExtra",
    "Noise",
    "PaperThreshold",
    "Plan",
    "Region",
    "Rho",
    "Threshold",
    "Votes",
    "alpha_for_sigma",
    "anytime_lower_bound",
    "anytime_radius",
    "bounds_from_counts",
    "certify",
    "column",
    "gaussian_l0_radius",
    "gaussian_l0_threshold",
    "gaussian_l2_radius",
    "lower_bound",
    "min_count",
    "min_p",
    "outvotes",
    "paper_threshold",
    "plan",
    "radius",
    "radius_from_bounds",
    "radius_from_votes",
    "reachable_radius",
    "regions",
    "rho",
    "rho_inverse",
    "saturation_bound",
    "sigma_for_alpha",
    "threshold_rows",
    "thresholds",
    "uniform_l1_radius",
    "uniform_linf_radius",
    "upper_bound",
]
