"""What public code for graphs computes, in float64, beside the exact certificates of the same votes.

A baseline to compare with, and **no certificate**: nothing is rounded to the safe side, and the joint one is false.
For sparse bits the regions are those of the number of struck bits among the changed ones, whose likelihood ratios are
already in order. For features and edges together public code multiplies the two ordered lists, and takes the products
for ordered. They are not, so that ρ is read off too large.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy import stats

from ellzero.certificates import Family, Joint, Sparse
from ellzero.certificates.families.base import Counts
from ellzero.core.errors import InvalidInput

Floats = npt.NDArray[np.float64]


def float_lower_bound(count: int, n: int, failure: float) -> float:
    """The Clopper–Pearson bound as libraries have it: a quantile of the beta distribution."""
    return float(stats.beta.ppf(failure, count, n - count + 1)) if count else 0.0


def float_least_count(family: Family, counts: Counts, n: int, failure: float) -> int:
    """The least count whose float bound gives a float ρ above 1/2; n + 1 if none does."""
    rho = float_rho(family, counts)
    low, high = 0, n + 1
    while low < high:
        middle = (low + high) // 2
        if rho(float_lower_bound(middle, n, failure)) > 0.5:
            high = middle
        else:
            low = middle + 1
    return low


def float_rho(family: Family, counts: Counts) -> Callable[[float], float]:
    """ρ of a budget for sparse bits, or for a joint family of them, as public code has it."""
    match family:
        case Sparse():
            regions = sparse_regions(family, *counts)
        case Joint():
            parts = [
                sparse_regions(member, *counts[2 * place : 2 * place + 2])
                for place, (_, member) in enumerate(family.members)
                if isinstance(member, Sparse)
            ]
            if 2 * len(parts) != len(counts):
                raise InvalidInput("family", "sparse bits, or a joint family of them", family)
            regions = parts[0]
            for part in parts[1:]:
                regions = np.array([first * second for first, second in product(regions, part)])
        case _:
            raise InvalidInput("family", "sparse bits, or a joint family of them", family)

    def rho(p: float) -> float:
        """The mass of x̄ where the first regions have the mass p of x."""
        under_x, under_other = regions[:, 0], regions[:, 1]
        before = np.concatenate([[0.0], np.cumsum(under_x)[:-1]])
        taken = np.clip(p - before, 0.0, under_x)
        return float((under_other * np.divide(taken, under_x, out=np.zeros_like(taken), where=under_x > 0)).sum())

    return rho


def sparse_regions(family: Sparse, add: int, delete: int) -> Floats:
    """P_x and P_x̄ of each number of struck bits, in descending order of their ratio if p₊ + p₋ < 1."""
    p_add, p_del = float(family.p_add), float(family.p_del)
    under_x = np.convolve(_binomial(add, p_add), _binomial(delete, p_del))
    under_other = np.convolve(_binomial(add, 1 - p_del), _binomial(delete, 1 - p_add))
    return np.stack([under_x, under_other], axis=1)


def _binomial(size: int, p: float) -> Floats:
    masses: Floats = stats.binom.pmf(np.arange(size + 1), size, p)
    return masses
