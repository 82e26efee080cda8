"""Noises that hide coordinates: against all that a classifier may see, and against their closed forms."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given, strategies as st
from oracles import noises
from oracles.families import parameters, simple_families
from oracles.strategies import probabilities

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Hierarchical,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    rho,
    rho_inverse,
)

HALF = Fraction(1, 2)


@given(parameters(), st.integers(0, 60), probabilities(1_000))
def test_masks_have_a_closed_form(m: Fraction, r: int, p: Fraction) -> None:
    assert rho(Mask(m), r, p) == max(0, p - (1 - m**r))
    assert rho_inverse(Mask(m), r, HALF) == min(1, Fraction(3, 2) - m**r)


@given(st.integers(1, 6), st.data())
def test_ablation_is_what_a_classifier_sees(d: int, data: st.DataObject) -> None:
    keep, r = data.draw(st.integers(1, d)), data.draw(st.integers(0, d))
    p, q = data.draw(probabilities(1_000)), data.draw(probabilities(1_000))
    x, xbar = [0] * d, [1] * r + [0] * (d - r)
    masses = noises.masses([(noises.ablations(x, keep), noises.ablations(xbar, keep))])
    assert rho(Ablation(d, keep), r, p) == noises.rho(masses, p)
    assert rho_inverse(Ablation(d, keep), r, q) == noises.rho_inverse(masses, q)


@given(st.integers(1, 400), st.data())
def test_ablation_has_a_closed_form(d: int, data: st.DataObject) -> None:
    keep, r = data.draw(st.integers(1, d)), data.draw(st.integers(0, d))
    hidden = Fraction(comb(d - r, keep), comb(d, keep))
    assert rho_inverse(Ablation(d, keep), r, HALF) == min(1, Fraction(3, 2) - hidden)


sequences = st.lists(st.integers(0, 1), max_size=4)


@given(sequences, sequences, parameters(), probabilities(1_000))
def test_deletion_covers_every_sequence_within_the_edit_distance(
    x: list[int], xbar: list[int], m: Fraction, p: Fraction
) -> None:
    """Insertions, deletions and substitutions alike, by all that two sequences may become."""
    r = noises.edit_distance(x, xbar)
    masses = noises.masses([(noises.deletions(x, m), noises.deletions(xbar, m))])
    assert rho(Deletion(m), r, p) <= noises.rho(masses, p)
    assert rho_inverse(Deletion(m), r, HALF) >= noises.rho_inverse(masses, HALF)


def test_deletion_is_tight_for_symbols_that_occur_nowhere_else() -> None:
    masses = noises.masses([(noises.deletions([0, 1, 2], HALF), noises.deletions([3, 4, 2], HALF))])
    assert rho_inverse(Deletion(HALF), 2, "1/5") == noises.rho_inverse(masses, Fraction(1, 5))


@given(simple_families().filter(lambda family: len(family.axes) == 1), parameters(), st.integers(0, 8))
def test_a_hierarchical_noise_has_a_closed_form(base: Family, s: Fraction, r: int) -> None:
    """All r coordinates are struck with probability S; otherwise one shows what it is."""
    struck = s**r
    expected = (1 - struck) + struck * rho_inverse(base, r, 1 / (2 * struck)) if struck > HALF else Fraction(1)
    assert rho_inverse(Hierarchical(base, s), r, HALF) == expected


@pytest.mark.parametrize(
    "base",
    [Ablation(9, 3), Deletion("0.5"), RegionList([[(1, 1)]]), Joint(a=Mask("0.5"), b=Deletion("0.5")), "discrete"],
)
def test_only_what_strikes_each_coordinate_by_itself_can_be_a_base(base: object) -> None:
    """The block of several changed coordinates would be struck once instead of once for each: a false certificate."""
    with pytest.raises(InvalidInput, match="^base must be a family of noises that strike each coordinate by itself"):
        Hierarchical(base, "0.9")  # type: ignore[arg-type]


def test_a_base_may_itself_be_composed() -> None:
    base = Joint(colours=Discrete(2, "0.7"), words=Mask("0.6"))
    budget = {"colours": 1, "words": 1}
    assert rho(Hierarchical(base, "0.9"), budget, "0.95") == noises.least_rho(
        Joint(colours=Hierarchical(Discrete(2, "0.7"), "0.9"), words=Hierarchical(Mask("0.6"), "0.9")),
        (1, 1),
        Fraction("0.95"),
    )


@pytest.mark.parametrize(("d", "keep"), [(0, 1), (5, 0), (5, 6), (5, 1.5)])
def test_bad_numbers_of_coordinates_are_refused(d: object, keep: object) -> None:
    with pytest.raises(InvalidInput, match="^(d|keep) must be an integer"):
        Ablation(d, keep)  # type: ignore[arg-type]


def test_no_more_coordinates_change_than_there_are() -> None:
    with pytest.raises(InvalidInput, match="^budget must be an integer from 0 to 5; got 6"):
        rho(Ablation(5, 2), 6, "0.9")
