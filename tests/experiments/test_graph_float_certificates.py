"""Float certificates as public code has them: near the exact ones for one kind of data, and false for two."""

import pytest
from hypothesis import given, settings, strategies as st

from ellzero.certificates import InvalidInput, Joint, Mask, Sparse, Votes, lower_bound, min_count, rho
from ellzero.experiments.graph_float_certificates import float_least_count, float_lower_bound, float_rho

SPARSE = Sparse("0.01", "0.6")
JOINT = Joint(edges=SPARSE, attributes=Sparse("0.001", "0.8"))


@given(st.integers(0, 4), st.integers(0, 6), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_for_bits_of_one_kind_it_is_the_exact_one_but_for_rounding(add: int, delete: int, thousandths: int) -> None:
    p = thousandths / 1000
    exact = float(rho(SPARSE, {"add": add, "delete": delete}, p))
    assert float_rho(SPARSE, (add, delete))(p) == pytest.approx(exact, abs=1e-9)


def test_multiplied_lists_are_not_in_order_and_claim_what_is_false() -> None:
    budget = {"edges": {"add": 1}, "attributes": {"add": 1, "delete": 1}}
    assert float_rho(JOINT, (1, 0, 1, 1))(0.99) == pytest.approx(0.6, abs=1e-9)
    assert float(rho(JOINT, budget, "0.99")) == pytest.approx(0.4797, abs=1e-4)
    claimed, exact = float_least_count(JOINT, (1, 0, 1, 1), 10_000, 0.001), min_count(JOINT, budget, 10_000, "0.001")
    assert exact is not None
    assert claimed < exact, "counts in between are claimed and not certified"


@given(st.integers(0, 200))
@settings(deadline=None, max_examples=30)
def test_the_float_bound_is_near_the_exact_one(count: int) -> None:
    assert float_lower_bound(count, 200, 0.01) == pytest.approx(lower_bound(Votes(count, 200, "0.01")), abs=1e-9)


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (0, 3), (1, 4), (5, 9)])
def test_least_counts_are_near_the_exact_ones(counts: tuple[int, int]) -> None:
    exact = min_count(SPARSE, {"add": counts[0], "delete": counts[1]}, 1_000, "0.001")
    assert abs(float_least_count(SPARSE, counts, 1_000, 0.001) - (1_001 if exact is None else exact)) <= 1


@pytest.mark.parametrize("family", [Mask("0.5"), Joint(edges=SPARSE, words=Mask("0.5"))])
def test_other_families_are_refused(family: Mask | Joint) -> None:
    with pytest.raises(InvalidInput, match="family must be sparse bits, or a joint family of them"):
        float_rho(family, (1,) * len(family.axes))
