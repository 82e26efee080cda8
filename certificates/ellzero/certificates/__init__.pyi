from ellzero.certificates.confidence_sequence import (
    anytime_lower_bound as anytime_lower_bound,
    anytime_radius as anytime_radius,
)
from ellzero.certificates.discrete import regions as regions, rho as rho, rho_inverse as rho_inverse
from ellzero.certificates.exact_thresholds import (
    Column as Column,
    Threshold as Threshold,
    column as column,
    min_p as min_p,
    saturation_bound as saturation_bound,
    threshold_rows as threshold_rows,
    thresholds as thresholds,
)
from ellzero.certificates.gaussian import (
    alpha_for_sigma as alpha_for_sigma,
    gaussian_l0_radius as gaussian_l0_radius,
    gaussian_l0_threshold as gaussian_l0_threshold,
    gaussian_l2_radius as gaussian_l2_radius,
    sigma_for_alpha as sigma_for_alpha,
)
from ellzero.certificates.lee2019 import PaperThreshold as PaperThreshold, paper_threshold as paper_threshold
from ellzero.certificates.looks import Look as Look, plan_looks as plan_looks, staged_radius as staged_radius
from ellzero.certificates.multiclass import (
    Bounds as Bounds,
    bounds_from_counts as bounds_from_counts,
    outvotes as outvotes,
    radius_from_bounds as radius_from_bounds,
    upper_bound as upper_bound,
)
from ellzero.certificates.neyman_pearson import Region as Region, Rho as Rho
from ellzero.certificates.noise import Noise as Noise
from ellzero.certificates.radii import Certificate as Certificate, certify as certify, radius as radius
from ellzero.certificates.sample_size import Plan as Plan, plan as plan
from ellzero.certificates.uniform import (
    uniform_l1_radius as uniform_l1_radius,
    uniform_linf_radius as uniform_linf_radius,
)
from ellzero.certificates.votes import (
    Votes as Votes,
    lower_bound as lower_bound,
    min_count as min_count,
    radius_from_votes as radius_from_votes,
    reachable_radius as reachable_radius,
)
from ellzero.core.errors import (
    EllzeroError as EllzeroError,
    Inconsistent as Inconsistent,
    InvalidInput as InvalidInput,
    MissingExtra as MissingExtra,
)
