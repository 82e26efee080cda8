from ellzero.certificates.families.base import Budget as Budget, Family as Family, SingleBlock as SingleBlock
from ellzero.certificates.families.composed import (
    Grouped as Grouped,
    Joint as Joint,
    RegionList as RegionList,
    Total as Total,
)
from ellzero.certificates.families.discrete import Discrete as Discrete
from ellzero.certificates.families.masks import (
    Ablation as Ablation,
    Deletion as Deletion,
    Hierarchical as Hierarchical,
    Mask as Mask,
)
from ellzero.certificates.families.registry import make_family as make_family
from ellzero.certificates.families.sparse import Sparse as Sparse, SparseLevels as SparseLevels
from ellzero.certificates.products import Block as Block, Perturbation as Perturbation
