"""Thresholds from the definitions are those of the engine, for every family and however budgets are spent."""

from fractions import Fraction

import pytest
from hypothesis import assume, given, strategies as st
from oracles.families import all_families, budgets
from oracles.strategies import probabilities

from ellzero.audit.laws import UnknownLaw, read_law
from ellzero.audit.regions import stays_ahead, threshold
from ellzero.certificates import Discrete, certified, rho_inverse
from ellzero.certificates.families.base import Family


@given(all_families(), st.data(), probabilities())
def test_thresholds_are_those_of_the_engine(family: Family, data: st.DataObject, q: Fraction) -> None:
    assume("regions" not in str(family.describe()))
    law, counts = read_law(family.describe()), data.draw(budgets(family))
    assert law.axes == family.axes
    for target in (Fraction(1, 2), q):
        assert threshold(law, counts, target) == rho_inverse(family, family.write_budget(counts), target)


@given(all_families(), st.data(), probabilities(), probabilities())
def test_two_bounds_certify_what_they_do_in_the_engine(
    family: Family, data: st.DataObject, lower: Fraction, upper: Fraction
) -> None:
    assume("regions" not in str(family.describe()))
    law, counts = read_law(family.describe()), data.draw(budgets(family))
    budget = family.write_budget(counts)
    found = certified(family, lower, budget, p_b=upper)
    largest = [(found,)] if isinstance(found, int) else [family.read_budget(each) for each in found or ()]
    assert stays_ahead(law, counts, lower, upper) is (counts in largest)


@pytest.mark.parametrize("r", [30, 120])
def test_large_radii_of_bytes_are_those_of_the_engine(r: int) -> None:
    noise = Discrete(255, "1/5")
    assert threshold(read_law(noise.describe()), (r,), Fraction(1, 2)) == rho_inverse(noise, r, "1/2")


def test_budgets_that_take_hours_are_refused_at_once() -> None:
    law = read_law(Discrete(255, "1/5").describe())
    with pytest.raises(UnknownLaw, match="so large that certificates are not verified"):
        threshold(law, (10_000,), Fraction(1, 2))
