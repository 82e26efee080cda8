"""The looks that verification knows are those that the rules make."""

from fractions import Fraction

from hypothesis import given, strategies as st

from ellzero.audit.looks import STOPPING, is_staged, list_looks
from ellzero.smoothing.sampling.stopping_rules import Stopping


@given(st.integers(1, 10**8), st.fractions(Fraction(1, 10**6), Fraction(1, 2)), st.sampled_from(["staged", "hasty"]))
def test_looks_and_shares_are_those_of_the_rules(n: int, failure: Fraction, stopping: str) -> None:
    looks = list_looks(stopping, n, failure)
    assert looks == [(look.n, look.failure) for look in Stopping(stopping).plan(n, failure)]
    assert sum(share for _, share in looks) == failure


def test_every_rule_is_known() -> None:
    assert set(STOPPING) == {str(rule) for rule in Stopping}
    assert [rule for rule in STOPPING if is_staged(rule)] == [
        rule for rule in STOPPING if Stopping(rule).plan(1_000, Fraction(1, 10))
    ]
