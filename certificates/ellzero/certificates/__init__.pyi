from ellzero.certificates.budget_thresholds import (
    min_p as min_p,
    regions as regions,
    rho as rho,
    rho_inverse as rho_inverse,
    threshold as threshold,
    thresholds as thresholds,
)
from ellzero.certificates.certified_budgets import (
    anytime_certified as anytime_certified,
    certified as certified,
    certified_from_votes as certified_from_votes,
    staged_certified as staged_certified,
)
from ellzero.certificates.collective import (
    CollectiveCertificate as CollectiveCertificate,
    certify_collectively as certify_collectively,
)
from ellzero.certificates.confidence_sequence import (
    anytime_lower_bound as anytime_lower_bound,
    anytime_radius as anytime_radius,
)
from ellzero.certificates.conformal import Calibration as Calibration, critical_count as critical_count
from ellzero.certificates.exact_thresholds import (
    Column as Column,
    Threshold as Threshold,
    column as column,
    saturation_bound as saturation_bound,
    threshold_rows as threshold_rows,
)
from ellzero.certificates.families import (
    Ablation as Ablation,
    Deletion as Deletion,
    Discrete as Discrete,
    Family as Family,
    Grouped as Grouped,
    Hierarchical as Hierarchical,
    Joint as Joint,
    Mask as Mask,
    RegionList as RegionList,
    SingleBlock as SingleBlock,
    Sparse as Sparse,
    SparseLevels as SparseLevels,
    Total as Total,
    make_family as make_family,
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
from ellzero.certificates.products import Block as Block
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
