"""The binomial tail as a continued fraction: a few dozen steps for almost any n, k and q.

Let 1 ≤ k < n, θ = q/(1−q), and let F be Gauss's hypergeometric function. Then

    P[Bin(n, q) ≥ k] = P[Bin(n, q) = k]·T,    T = F(k−n, 1; k+1; −θ).

With f_{2m} = F(k−n+m, m; k+2m; −θ) and f_{2m+1} = F(k−n+m, m+1; k+2m+1; −θ), so that f_0 = 1 and f_1 = T, Gauss's
contiguous relations are

    f_{2m}   = f_{2m+1} − s_m·f_{2m+2},    s_m = (n−k−m)(k+m)θ / ((k+2m)(k+2m+1)),
    f_{2m−1} = f_{2m}   + u_m·f_{2m+1},    u_m = m(n+m)θ / ((k+2m−1)(k+2m)).

For m ≤ n−k each f is a finite sum that begins with 1 and has no negative term. So the second relation puts
E_m = f_{2m}/f_{2m−1} between 0 and 1, and dividing both gives

    T = 1/(1 − s_0·E_1),    E_m = 1/(1 + u_m/(1 − s_m·E_{m+1})).

Started from the ball [0, 1] for some E_{m+1}, these give rigorous enclosures of T. They narrow fast if k exceeds the
mean nq by a standard deviation or more; k > nq makes all s_m < 1. After n−k steps, where s_m = 0, the result is exact.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import exp, expm1, lgamma, log, nextafter, sqrt
from typing import TypeVar

from ellzero.certificates._balls import arb, ball

Number = TypeVar("Number", float, arb)

# A ball of 64 bits needs 8 to compare with most bounds, and 32 or 128 for all its digits.
_STEPS = (8, 32, 128, 512)
_GUESS_STEPS = 16
_MOST_NEWTON_STEPS = 60
_BELOW_ONE = nextafter(1.0, 0.0)
_CLOSE = 1e-5  # of log ε; one more step of Newton's then squares it. At n = 10^8 doubles give about 10^-6.


def point_ball(n: int, k: int, q: arb) -> arb:
    """A ball for P[Bin(n, q) = k], 0 ≤ k ≤ n."""
    ways = (ball(n + 1).lgamma() - ball(k + 1).lgamma() - ball(n - k + 1).lgamma()).exp()
    return ways * q**k * (1 - q) ** (n - k)


def upper_tail_balls(n: int, k: int, q: arb) -> Iterator[arb]:
    """Balls for P[Bin(n, q) ≥ k], 1 ≤ k ≤ n, from cheap and wide to costly and as narrow as the precision allows.

    Efficient for k > nq; correct for every q.
    """
    if k == n:
        yield q**n
        return
    point, odds = point_ball(n, k, q), q / (1 - q)
    for most in _STEPS:
        steps = min(most, n - k)
        ratio = _ratio(n, k, odds, steps, arb(0.5, 0.5))
        yield point * ratio
        if steps == n - k or ratio.rel_accuracy_bits() >= point.rel_accuracy_bits():
            return
    yield q.beta_lower(k, n - k + 1, 1)  # the regularised incomplete beta function I_q(k, n−k+1) is the tail too


def guess_bound(n: int, k: int, failure: Fraction) -> float:
    """About the q with P[Bin(n, q) ≥ k] = ε, 0 ≤ k ≤ n, as a double below 1. Proves nothing: where a search begins."""
    if k == 0:
        return 0.0
    if 2 * failure <= 1:
        return min(exp(_log_root(n, k, _log(failure))), _BELOW_ONE)
    return min(-expm1(_log_root(n, n - k + 1, _log(1 - failure))), _BELOW_ONE)  # P[Bin(n, 1−q) ≥ n−k+1] = 1 − ε


def _ratio(n: int, k: int, odds: Number, steps: int, last: Number) -> Number:
    """T, given E_{steps+1}."""
    inner = last
    for m in range(steps, 0, -1):
        s, u = _coefficients(n, k, odds, m)
        inner = 1 / (1 + u / (1 - s * inner))
    return 1 / (1 - (n - k) * odds / (k + 1) * inner)


def _coefficients(n: int, k: int, odds: Number, m: int) -> tuple[Number, Number]:
    """s_m and u_m, m ≥ 1."""
    twice = k + 2 * m
    return (n - k - m) * (k + m) * odds / (twice * (twice + 1)), m * (n + m) * odds / (twice * (twice - 1))


def _log_root(n: int, k: int, log_failure: float) -> float:
    """About log q for the q with log P[Bin(n, q) ≥ k] = log ε, ε ≤ 1/2.

    Newton's method in log q. The derivative is k/T, and T grows with q, so the function is concave: from q = k/n, which
    lies above the root, the first step goes below it and all others climb towards it.
    """
    if k == n:
        return log_failure / n
    at = most = log(k / n)  # q = k/n makes k a median
    log_ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    for _ in range(_MOST_NEWTON_STEPS):
        rest = -expm1(at)  # 1 − q
        ratio = _guess_ratio(n, k, exp(at) / rest)
        excess = log_ways + k * at + (n - k) * log(rest) + log(ratio) - log_failure
        at = min(at - excess * ratio / k, most)
        if abs(excess) < _CLOSE:
            break
    return at


def _guess_ratio(n: int, k: int, odds: float) -> float:
    """About T: after a few steps the fraction is taken to be periodic, E = 1/(1 + u/(1 − s·E))."""
    steps = min(_GUESS_STEPS, n - k)
    s, u = _coefficients(n, k, odds, steps + 1)
    middle = (1 + u + s) / 2
    return _ratio(n, k, odds, steps, 1 / (middle + sqrt(middle * middle - s)))


def _log(value: Fraction) -> float:
    return log(value.numerator) - log(value.denominator)  # the value itself may be too small for a double
