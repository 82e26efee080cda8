"""The discrete ℓ0 noise as a family of regions, and its ρ for any p and q.

For two inputs at Hamming distance r, only the r coordinates in which they differ distinguish x from x̄. With
t = #(noisy coordinates equal to x) − #(equal to x̄) the likelihood ratio is (α/β)^t, and

    P_r(t) = [y^t] (a·y + m + b/y)^r      mass under x,  Σ_t P_r(t) = z^r
    P_r(−t)                               mass under x̄

with the integers a, m, b, z of `Weights`. 2r+1 regions, whatever d is (docs/mathematics.md).
"""

from collections.abc import Iterator
from fractions import Fraction

from ellzero.certificates._integers import divexact, mpz
from ellzero.certificates.neyman_pearson import Region, rho as lemma_rho, rho_inverse as lemma_rho_inverse
from ellzero.certificates.noise import Noise, Weights
from ellzero.core.cancellation import EXACT_STEPS, check_cancelled
from ellzero.core.numbers import RationalLike, read_integer, read_probability


def regions(noise: Noise, r: int) -> Iterator[Region]:
    """The regions at distance r as integers in units of z^-r, in descending order of likelihood ratio.

    A stream: each region comes from the two before it by the three-term recurrence
    a·(r−x+1)·P(x−1) = b·(r+x+1)·P(x+1) + m·x·P(x), an exact division by a small integer.
    """
    r, weights = read_integer(r, "r", 0), noise.weights.descending
    under_xbar = _masses(weights._replace(a=weights.b, b=weights.a), r)
    return (Region(int(x), int(xbar)) for x, xbar in zip(_masses(weights, r), under_xbar, strict=True))


def rho(noise: Noise, r: int, p: RationalLike) -> Fraction:
    """ρ_r(p): the least probability at any x̄ with ‖x−x̄‖₀ = r, given probability p at x.

    Exact. O(r) integer operations on numbers of r·log₂ z bits.
    """
    r, p = read_integer(r, "r", 0), read_probability(p, "p")
    return lemma_rho(regions(noise, r), _total(noise, r), p)


def rho_inverse(noise: Noise, r: int, q: RationalLike) -> Fraction:
    """ρ_r⁻¹(q) = sup{p : ρ_r(p) ≤ q}; at q = 1/2 the threshold τ_r. Exact, at the cost of `rho`."""
    r, q = read_integer(r, "r", 0), read_probability(q, "q")
    return lemma_rho_inverse(regions(noise, r), _total(noise, r), q)


def _total(noise: Noise, r: int) -> int:
    return int(mpz(noise.weights.z) ** r)


def _masses(weights: Weights, r: int) -> Iterator[int]:
    """P_r(r), P_r(r−1), …, P_r(−r)."""
    a, m, b, _ = weights
    upper, current = mpz(0), mpz(a) ** r
    yield current
    for x in range(r, -r, -1):
        if x % EXACT_STEPS == 0:
            check_cancelled()
        upper, current = current, divexact(b * (r + x + 1) * upper + m * x * current, a * (r - x + 1))
        yield current
