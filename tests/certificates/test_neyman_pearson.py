"""The general lemma is exact for any family of regions, with ratios 0 and ∞ too."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from oracles import brute_force
from oracles.strategies import alphas, noises, probabilities

from ellzero.certificates import (
    Discrete,
    InvalidInput,
    Region,
    Rho,
    neyman_pearson,
    regions,
    rho,
    rho_inverse,
    uniform_l1_radius,
)

masses = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8)


def normalise(pairs: list[tuple[int, int]]) -> list[Region]:
    """Random regions whose x- and x̄-masses have the same sum."""
    x, xbar = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    assume(x and xbar)
    return [Region(Fraction(pair[0], x), Fraction(pair[1], xbar)) for pair in pairs]


@given(masses, probabilities(), probabilities())
def test_rho_is_the_least_over_fractional_classifiers(pairs: list[tuple[int, int]], p: Fraction, q: Fraction) -> None:
    """Linear programming duality: ρ(p) = max over λ ≥ 0 of λp − Σ max(0, λ·x − x̄), attained at a region's ratio."""
    family = normalise(pairs)
    slopes = [Fraction(0), *(region.xbar / Fraction(region.x) for region in family if region.x)]

    def dual(at: Fraction) -> Fraction:
        return max(
            slope * at - sum(max(Fraction(0), slope * region.x - region.xbar) for region in family) for slope in slopes
        )

    function = Rho.of(family)
    assert function(p) == dual(p)
    inverse = function.inverse(q)
    assert function(inverse) <= q
    assert inverse == 1 or function(inverse + (1 - inverse) / 1000) > q


@given(masses, probabilities(), probabilities())
def test_streaming_and_the_piecewise_function_agree(pairs: list[tuple[int, int]], p: Fraction, q: Fraction) -> None:
    family = normalise(pairs)
    function, regions = Rho.of(reversed(family)), neyman_pearson.sort_descending(family)
    assert neyman_pearson.rho(regions, 1, p) == function(p)
    assert neyman_pearson.rho_inverse(regions, 1, q) == function.inverse(q)


@given(noises(max_k=5, max_denominator=12), st.integers(0, 6), probabilities(), probabilities())
def test_the_discrete_family_only_states_its_regions(noise: Discrete, r: int, p: Fraction, q: Fraction) -> None:
    function = Rho.of(regions(noise, r))
    assert rho(noise, r, p) == function(p)
    assert rho_inverse(noise, r, q) == function.inverse(q)
    assert len(function.breakpoints) <= 2 * r + 2


@given(alphas(), st.integers(1, 3), st.integers(0, 4), st.integers(0, 1), probabilities(50), probabilities(50))
def test_rho_is_that_of_the_whole_space(alpha: Fraction, k: int, r: int, common: int, p: Fraction, q: Fraction) -> None:
    noise = Discrete(k, alpha)
    space = brute_force.outcomes(r + common, k, alpha, r) if r + common else [(Fraction(1), Fraction(1))]
    assert rho(noise, r, p) == brute_force.rho(space, p)
    assert rho_inverse(noise, r, q) == brute_force.rho_inverse(space, q)


@given(st.fractions(Fraction(1, 10), 10), st.fractions(Fraction(1, 100), 3), probabilities(1000))
def test_a_second_family_needs_only_its_regions(gamma: Fraction, shift: Fraction, p: Fraction) -> None:
    """Uniform noise on [−γ, γ], inputs apart by a shift: ratios ∞, 1 and 0. Agrees with the closed form for ℓ1."""
    outside = min(shift / (2 * gamma), Fraction(1))
    function = Rho.of([Region(0, outside), Region(1 - outside, 1 - outside), Region(outside, 0)])
    assume(outside < 1)
    certified = function(p) > Fraction(1, 2)
    closed_form = uniform_l1_radius(gamma, p)
    assert certified == (shift < 2 * p * gamma - gamma)
    if closed_form is not None and shift <= Fraction(closed_form):
        assert certified


def test_infinite_and_zero_ratios_at_the_ends() -> None:
    function = Rho.of([Region(0, 1), Region(1, 1), Region(1, 0)])
    assert [function(p) for p in ("0", "1/2", "3/4", "1")] == [0, 0, Fraction(1, 4), Fraction(1, 2)]
    assert [function.inverse(q) for q in ("0", "1/4", "1/2", "1")] == [Fraction(1, 2), Fraction(3, 4), 1, 1]


def test_breakpoints_do_not_depend_on_how_a_region_is_cut() -> None:
    whole = Rho.of([Region(4, 2), Region(2, 4)])
    assert Rho.of([Region(1, 2), Region(3, Fraction(3, 2)), Region(1, 2), Region(1, Fraction(1, 2))]) == whole


def test_masses_may_be_any_exact_numbers_and_no_floats() -> None:
    third = Rho.of([Region(1, 2), Region(2, 1)])
    assert Rho.of([Region(np.int64(1), np.int64(2)), Region(np.int64(2), np.int64(1))]) == third  # type: ignore[arg-type]
    with pytest.raises(
        InvalidInput, match="^regions must be masses of at least 0 that are integers or Fractions; got 0.1"
    ):
        Rho.of([Region(0.1, 0.3), Region(0.9, 0.7)])  # type: ignore[arg-type]


def test_regions_of_a_bad_radius_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="^budget must be an integer of at least 0; got -1"):
        regions(Discrete(1, "0.8"), -1)


@pytest.mark.parametrize("family", [[], [Region(1, 2)], [Region(-1, 1), Region(2, 0)], [Region(0, 0)]])
def test_masses_that_are_not_distributions_are_refused(family: list[Region]) -> None:
    with pytest.raises(InvalidInput, match="^regions must be"):
        Rho.of(family)
