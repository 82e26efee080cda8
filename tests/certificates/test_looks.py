"""Staged looks: fixed beforehand, they share the failure probability, and the best of them holds."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from oracles import brute_force, strategies

from ellzero.certificates import Discrete, InvalidInput, Votes, plan_looks, radius_from_votes, staged_radius


@given(st.integers(1, 10**8), st.fractions(Fraction(1, 10**12), Fraction(99, 100), max_denominator=10**12))
def test_looks_grow_to_n_and_share_the_failure_exactly(n: int, failure: Fraction) -> None:
    looks = plan_looks(n, failure)
    counts = [look.n for look in looks]
    assert counts == sorted(set(counts))
    assert counts[-1] == n
    assert counts[0] >= min(n, 32)
    assert sum(look.failure for look in looks) == failure
    assert all(look.failure > 0 for look in looks)
    assert looks[-1].failure >= Fraction(9, 10) * failure
    even = plan_looks(n, failure, Fraction(1, 2))
    assert [look.n for look in even] == counts
    assert sum(look.failure for look in even) == failure
    shares = [look.failure for look in looks]
    assert shares == sorted(shares)
    assert looks == plan_looks(n, str(failure))


@settings(max_examples=40)
@given(strategies.noises(max_k=5, max_denominator=12), st.integers(1, 90), st.data())
def test_the_radius_is_that_of_the_best_look_by_exact_tails(noise: Discrete, n: int, data: st.DataObject) -> None:
    """P[Bin(n_j, τ_r) ≥ count_j] < ε_j, summed in fractions."""
    failure, d = Fraction(1, 50), 3
    looks = plan_looks(n, failure)
    counts: list[int] = []
    before = 0
    for look in looks[: data.draw(st.integers(1, len(looks)))]:
        more = data.draw(st.integers(max(0, (look.n - before) * 3 // 4), look.n - before))
        counts.append((counts[-1] if counts else 0) + more)
        before = look.n
    masses = [brute_force.outcomes(d, noise.k, noise.alpha, r) for r in range(d + 1)]
    taus = [brute_force.rho_inverse(each, Fraction(1, 2)) for each in masses]
    passed = [
        r
        for r in range(d + 1)
        if any(
            brute_force.binomial_tail(look.n, count, taus[r]) < look.failure
            for look, count in zip(looks, counts, strict=False)
        )
    ]
    assert staged_radius(noise, counts, n, d, failure) == max(passed, default=None)


def test_later_looks_never_take_back_what_an_earlier_one_certified() -> None:
    noise, looks = Discrete(1, "0.8"), plan_looks(1_000, "0.001")
    counts = [look.n for look in looks[:-1]]
    before = staged_radius(noise, counts, 1_000, 784)
    after = staged_radius(noise, [*counts, counts[-1]], 1_000, 784)  # not one of the last votes was for the class
    assert before == after == 2
    assert radius_from_votes(noise, Votes(counts[-1], 1_000, "0.001"), 784) == 0


def test_shares_that_are_floats_are_read_exactly() -> None:
    assert plan_looks(1_000, "0.001", 0.9) == plan_looks(1_000, "0.001")  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0, 1, "x", True, None, float("nan")])
def test_shares_that_are_none_are_refused(share: object) -> None:
    with pytest.raises(InvalidInput, match="^last_share must be"):
        plan_looks(1_000, "0.001", share)  # type: ignore[arg-type]


@pytest.mark.parametrize("counts", [[], [36] * 9, [37], [36, 35], [30, 37], [-1], [True]])
def test_counts_that_are_not_those_of_the_looks_are_refused(counts: list[int]) -> None:
    with pytest.raises(InvalidInput, match="count"):
        staged_radius(Discrete(1, "0.8"), counts, 100, 10)
