"""Rules in floating point: where they agree with exact certificates, and where they claim more than votes prove."""

from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from ellzero.certificates import Ablation, Discrete, Look, Mask, Votes, certified_from_votes, lower_bound, plan_looks
from ellzero.experiments.float_certificates import (
    LookCount,
    ablation_rule,
    ablation_share_rule,
    discrete_rule,
    float_looks,
    float_radius,
    mask_rule,
    mask_share_rule,
    public_ablation_rule,
)
from ellzero.experiments.masked_share import count_shown


def look_at(count: int, n: int) -> LookCount:
    return float_looks([[count]], [Look(n, Fraction(1, 1000))])[0][0]


@settings(max_examples=40)
@given(st.integers(1, 2_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_bounds_are_those_of_clopper_and_pearson_to_many_digits(votes: tuple[int, int]) -> None:
    count, n = votes
    assert look_at(count, n).bound == pytest.approx(lower_bound(Votes(count, n, "0.001")), rel=1e-9)


@settings(max_examples=40)
@given(st.integers(9_000, 10_000), st.integers(2, 30))
def test_with_beta_1_they_agree_with_the_exact_certificate(count: int, d: int) -> None:
    looks, votes = [look_at(count, 10_000)], Votes(count, 10_000, "0.001")
    for m in ("0.7", "0.9"):
        assert float_radius(looks, d, mask_rule(m)) == certified_from_votes(Mask(m), votes, d)
        shown = count_shown(d, Fraction(m), 2)
        assert float_radius(looks, d, ablation_rule(m, 2)) == certified_from_votes(Ablation(d, shown), votes, d)
    assert float_radius(looks, d, discrete_rule(99, "0.2")) == certified_from_votes(Discrete(99, "0.2"), votes, d)


def test_the_share_of_the_votes_in_the_place_of_beta_claims_more() -> None:
    """A classifier that answers 1 if any of its telling tokens is shown: β is 1, and its share of votes is not."""
    looks, d = [look_at(7_500, 10_000)], 20
    assert certified_from_votes(Mask("0.9"), Votes(7_500, 10_000, "0.001"), d) == 2
    assert float_radius(looks, d, mask_share_rule("0.9")) == 3
    assert float_radius(looks, d, ablation_rule("0.8", 2)) == 1
    assert float_radius(looks, d, ablation_share_rule("0.8", 2)) == 1
    assert float_radius([look_at(7_000, 10_000)], d, ablation_share_rule("0.9", 2)) == 2
    assert float_radius([look_at(7_000, 10_000)], d, ablation_rule("0.9", 2)) == 1


def test_short_sentences_are_taken_for_longer_masked_ones() -> None:
    """Of four tokens nine tenths, rounded, are all four: two are shown, and Δ is taken to be 0."""
    looks = [look_at(9_900, 10_000)]
    assert float_radius(looks, 4, public_ablation_rule("0.9")) == 4
    assert float_radius(looks, 4, ablation_rule("0.9", 2)) == 0
    assert float_radius(looks, 30, public_ablation_rule("0.9")) == float_radius(looks, 30, ablation_rule("0.9", 2))


def test_the_best_of_all_looks_counts_and_no_votes_abstain() -> None:
    plan = plan_looks(1_000)
    looks = float_looks([[look.n for look in plan], [0, 0], [plan[0].n]], plan)
    assert [len(own) for own in looks] == [len(plan), 2, 1]
    rule = mask_rule("0.9")
    assert float_radius(looks[0], 9, rule) == max(float_radius([look], 9, rule) or 0 for look in looks[0])
    assert float_radius(looks[1], 9, rule) is None
    assert looks[1][0].bound == 0.0
