"""What is decided of votes is what exact arithmetic says, and what the engine says."""

from fractions import Fraction
from math import comb, sqrt

from hypothesis import given, strategies as st

from ellzero.audit.tails import sequence_excludes, tail_is_at_most, tail_is_below
from ellzero.certificates import Votes
from ellzero.certificates.binomial_tails import SuccessProbability, compare_tail
from ellzero.certificates.confidence_sequence import excludes

SHARES = st.fractions(min_value=Fraction(1, 1_000), max_value=Fraction(999, 1_000))
FAILURES = st.one_of(SHARES, st.integers(1, 60).map(lambda power: Fraction(1, 2**power)), st.just(Fraction(1, 10**30)))


@given(st.integers(1, 40), st.data(), SHARES | st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]), FAILURES)
def test_small_tails_are_compared_as_the_exact_sums_ties_included(
    n: int, data: st.DataObject, q: Fraction, bound: Fraction
) -> None:
    k = data.draw(st.integers(0, n))
    exact = sum(comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k, n + 1))
    for limit in {bound, exact} - {0, 1}:
        assert tail_is_below(n, k, q, Fraction(limit)) is (exact < limit)
        assert tail_is_at_most(n, k, q, Fraction(limit)) is (exact <= limit)


@given(st.sampled_from([300, 5_000, 100_000, 10**7]), SHARES, st.floats(-6, 6), FAILURES)
def test_large_tails_are_compared_as_the_engine_does(n: int, q: Fraction, deviations: float, bound: Fraction) -> None:
    k = min(n, max(0, round(n * q + deviations * sqrt(n * q * (1 - q)))))
    assert tail_is_below(n, k, q, bound) is (compare_tail(n, k, SuccessProbability(q), bound) == -1)


@given(st.sampled_from([1, 7, 300, 5_000, 100_000, 10**7]), SHARES, st.floats(0, 8), FAILURES)
def test_the_confidence_sequence_excludes_what_the_engine_excludes(
    n: int, q: Fraction, deviations: float, failure: Fraction
) -> None:
    k = min(n, round(n * q + deviations * sqrt(n * q * (1 - q))))
    assert sequence_excludes(n, k, q, failure) is excludes(Votes(k, n, failure), SuccessProbability(q))
