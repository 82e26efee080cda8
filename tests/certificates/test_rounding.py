"""A query answered from a ball has the same answer for every number in it, or none."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from ellzero.certificates._balls import Undecided, arb, ball, precision
from ellzero.certificates.rounding import CeilingQuery, ExceedsQuery, LeastDoubleQuery, RowQuery

# 1 − τ lies in (0, 1/2]; many on the grids of the queries, where a ball can only touch the answer.
complements = st.one_of(
    st.fractions(Fraction(1, 10**6), Fraction(1, 2)),
    st.integers(1, 500).map(lambda n: Fraction(n, 1000)),
    st.integers(1, 2**20).map(lambda n: Fraction(n, 2**21)),
)


@given(complements, st.integers(1, 30), st.integers(8, 200), st.sampled_from([-1, 0, 1]))
def test_a_ball_is_answered_as_the_exact_number_in_it(
    complement: Fraction, digits: int, bits: int, touching: int
) -> None:
    with precision(bits):
        enclosure = ball(complement)
        width = arb(2) ** -60
        # The number at the lower end of the ball, anywhere in it, or at its upper end.
        enclosure = arb(enclosure - touching * width, width) if touching else enclosure
        for query in (
            CeilingQuery(digits),
            LeastDoubleQuery(),
            RowQuery(digits),
            ExceedsQuery(Fraction(3, 4)),
        ):
            try:
                answer = query.of_ball(enclosure)
            except Undecided:
                continue
            assert answer == query.of_exact(complement.numerator, complement.denominator)


@pytest.mark.parametrize("query", [CeilingQuery(3), LeastDoubleQuery(), RowQuery(3)])
def test_a_ball_without_width_on_the_grid_is_left_to_integers(query: RowQuery) -> None:
    with precision(128), pytest.raises(Undecided):
        query.of_ball(arb(1) / 8)


@given(complements, st.integers(1, 1000))
def test_everything_finer_than_its_bits_is_one_answer(complement: Fraction, digits: int) -> None:
    for query in (
        CeilingQuery(digits),
        LeastDoubleQuery(),
        RowQuery(digits),
        ExceedsQuery(1 - complement),
    ):
        tiny = complement / (1 << query.bits)
        beyond = query.of_exact(1, 2 << query.bits)
        assert query.of_exact(tiny.numerator, tiny.denominator) == beyond
