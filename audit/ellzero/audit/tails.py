"""What votes show of a probability: binomial tails summed term by term, and the confidence sequence.

Written down from the definitions: `ellzero.certificates` has neither the sums nor the arithmetic that stand here.
"""

from fractions import Fraction
from math import comb

from ellzero.audit.intervals import BITS, PositiveInterval, enclose, enclose_binomial

_EXACT_BITS = 1 << 18  # of one term of a tail that is compared in rationals, where it is close to a tie


def tail_is_below(n: int, k: int, q: Fraction, bound: Fraction) -> bool:
    """P[Bin(n, q) ≥ k] < bound, 0 < bound < 1; False also where that cannot be decided."""
    return _compare_tail(n, k, q, bound) == -1


def tail_is_at_most(n: int, k: int, q: Fraction, bound: Fraction) -> bool:
    """P[Bin(n, q) ≥ k] ≤ bound, 0 < bound < 1; False also where that cannot be decided."""
    return _compare_tail(n, k, q, bound) in (-1, 0)


def sequence_excludes(n: int, k: int, q: Fraction, failure: Fraction) -> bool:
    """Whether the confidence sequence after n votes, k of them for the class, has shown p > q: q < k/n and

    C(2k, k)·C(2(n−k), n−k) / (4^n·C(n, k)·q^k·(1−q)^(n−k)) > 1/failure.
    """
    if not n * q < k:
        return False
    if q == 0:
        return True
    mixture = enclose_binomial(2 * k, k).times(enclose_binomial(2 * (n - k), n - k))
    quotient = mixture.over(enclose_binomial(n, k).times(enclose(q).power(k)).times(enclose(1 - q).power(n - k)))
    return quotient._replace(exponent=quotient.exponent - 2 * n).is_above(1 / failure)


def _compare_tail(n: int, k: int, q: Fraction, bound: Fraction) -> int | None:
    """−1, 0 or 1 as the tail is below, equal to or above the bound; None if that cannot be decided."""
    if k > n or (q == 0 and k > 0):
        return -1
    if k <= 0 or q == 1:
        return 1
    if k > n * q:  # the smaller of both tails is summed
        tail, limit, side = _sum_tail(n, k, q), bound, 1
    else:
        tail, limit, side = _sum_tail(n, n - k + 1, 1 - q), 1 - bound, -1
    if tail.is_below(limit):
        return -side
    if tail.is_above(limit):
        return side
    if n * q.denominator.bit_length() > _EXACT_BITS:
        return None
    exact = sum(comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1))
    return (exact > bound) - (exact < bound)


def _sum_tail(n: int, k: int, q: Fraction) -> PositiveInterval:
    """P[Bin(n, q) ≥ k] for k > n·q, 0 < q < 1: the first term times a sum of falling ones.

    Each is (n−j)/(j+1)·q/(1−q) times the one before it. These factors fall too, so what comes after a term is less than
    a geometric series says.
    """
    first = enclose_binomial(n, k).times(enclose(q).power(k)).times(enclose(1 - q).power(n - k))
    odds = enclose(q / (1 - q))
    shift = -odds.exponent
    if shift < 0:
        odds, shift = PositiveInterval(odds.low << -shift, odds.high << -shift, 0), 0
    low = high = low_sum = high_sum = 1 << BITS
    stop = 1 << (BITS // 4)
    for j in range(k, n):
        low = low * ((n - j) * odds.low) // (j + 1) >> shift
        high = -(-high * ((n - j) * odds.high) // (j + 1) >> shift)
        low_sum += low
        high_sum += high
        factor, unit = (n - j - 1) * odds.high, (j + 2) << shift
        if high < stop and factor < unit:
            high_sum += -(-high * factor // (unit - factor))
            break
    return first.times(PositiveInterval(low_sum, high_sum, -BITS))
