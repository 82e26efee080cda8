"""Stated radii of many inputs are exactly what their votes prove, or the difference is named."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings, strategies as st
from oracles.certificates import NOISES, certify_votes, draw_votes

from ellzero.audit.counted_votes import CountedVotes
from ellzero.audit.laws import UnknownLaw
from ellzero.audit.rederivation import RadiusDerivation
from ellzero.certificates import Votes, anytime_lower_bound, lower_bound
from ellzero.certificates.multiclass import upper_bound


def state(votes: CountedVotes) -> tuple[int | None, Fraction, Fraction | None]:
    """The radius and the bounds that the engine states for votes."""
    radius = certify_votes(votes, by_kind=False)
    assert radius is None or isinstance(radius, int)
    half = 2 if votes.runner_up else 1
    bound = anytime_lower_bound if votes.stopping == "anytime" else lower_bound
    lower = max(bound(Votes(look.count, look.n, look.failure / half)) for look in votes.looks)
    if not votes.runner_up:
        return radius, Fraction(lower), None
    share = 2 * (len(votes.counts) - 1)
    upper = min(upper_bound(Votes(look.rival or 0, look.n, look.failure / share)) for look in votes.looks)
    return radius, Fraction(lower), Fraction(upper)


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_what_the_engine_states_is_derived_again_and_nothing_else(seed: int) -> None:
    """Many inputs under one noise, whose votes share what was found."""
    random = Random(seed)
    noise = random.choice(NOISES)
    derivation = RadiusDerivation(noise)
    for _ in range(8):
        votes = replace(draw_votes(random, noise), top_k=1)
        radius, lower, upper = state(votes)
        assert list(derivation.list_problems(votes, radius, lower, upper)) == []
        others: set[int | None] = {None, *range(votes.d + 2)}
        for other in others - {radius}:
            assert list(derivation.list_problems(votes, other, lower, upper)), other
        more = lower + Fraction(1, 10**6)
        assert "the votes do not show the stated bounds" in list(derivation.list_problems(votes, radius, more, upper))
        wrong = replace(votes, selected=(votes.selected + 1) % len(votes.counts))
        assert list(derivation.list_problems(wrong, radius, lower, upper))


def test_d_is_that_of_a_noise_which_says_it() -> None:
    noise = next(each for each in NOISES if each["family"] == "ablation")
    votes = draw_votes(Random(1), noise)
    radius, lower, upper = state(votes)
    for d in (votes.d - 1, votes.d + 1):
        (problem,) = RadiusDerivation(noise, votes.top_k).list_problems(replace(votes, d=d), radius, lower, upper)
        assert problem == f"d is {d}, and the noise is for {votes.d}"


def test_noises_without_exact_certificates_are_refused() -> None:
    with pytest.raises(UnknownLaw):
        RadiusDerivation({"family": "gaussian", "sigma": "1/2"})
