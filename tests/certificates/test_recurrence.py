"""A column is what single cells are, radius by radius: in integers, in balls, and where balls cannot tell."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import Discrete, recurrence, single_threshold
from ellzero.certificates._balls import Undecided, arb, bounds, precision
from ellzero.certificates.rounding import Ceiling, CeilingQuery, RowQuery


class ExactValue:
    """Asks for 1 − τ_r itself, so that only integers can answer."""

    bits = 1

    def of_exact(self, numerator: int, denominator: int) -> Fraction:
        return Fraction(int(numerator), int(denominator))

    def of_ball(self, complement: arb) -> Fraction:
        raise Undecided


@settings(max_examples=50)
@given(noises(), st.integers(1, 120))
def test_the_exact_walk_is_the_single_cells(noise: Discrete, r_max: int) -> None:
    column = list(islice(recurrence.iter_answers_exactly(noise, ExactValue()), r_max + 1))
    assert column == [1 - single_threshold.threshold(noise, r) for r in range(r_max + 1)]


@settings(max_examples=50)
@given(noises(), st.integers(0, 30), st.integers(1, 200))
def test_the_balls_contain_the_exact_values(noise: Discrete, start: int, steps: int) -> None:
    if noise.is_flat:
        return
    exact = recurrence.ExactRecurrence(noise.weights.descending)
    for _ in range(start):
        exact.step()
    with precision(3_000):
        balls = recurrence.BallRecurrence(exact)
        for _ in range(steps):
            try:
                balls.step()
            except Undecided:  # F = 1/2 exactly
                return
            exact.step()
            numerator, denominator = exact.complement()
            low, high = bounds(balls.complement())
            assert (balls.r, balls.s) == (exact.r, exact.s)
            assert low <= Fraction(int(numerator), int(denominator)) <= high


@settings(max_examples=40)
@given(noises(), st.integers(1, 40), st.sampled_from([1, 50, 400]))
def test_fast_and_exact_columns_agree(noise: Discrete, digits: int, r_max: int) -> None:
    query = RowQuery(digits)
    fast = list(islice(recurrence.iter_answers(noise, query, r_max), r_max + 1))
    assert fast == list(islice(recurrence.iter_answers_exactly(noise, query), r_max + 1))


@pytest.mark.parametrize(("k", "alpha"), [(1, "0.51"), (31, "0.03"), (255, "0.01"), (7, "1/100"), (10**8, "1e-6")])
def test_long_fast_columns_agree_with_exact_ones(k: int, alpha: str) -> None:
    noise, query = Discrete(k, alpha), CeilingQuery(20)
    fast = list(islice(recurrence.iter_answers(noise, query, 1_500), 1_501))
    assert fast == list(islice(recurrence.iter_answers_exactly(noise, query), 1_501))


def test_too_few_bits_are_noticed_and_answered_with_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """When only one radius is expected, the first precision is too low for these hundreds."""
    noise, query = Discrete(10**6, "0.1"), CeilingQuery(20)
    precisions: list[int] = []
    blocks = recurrence._blocks

    def record_bits(
        noise: Discrete, query: CeilingQuery, start: recurrence.ExactRecurrence, bits: int, r: int
    ) -> Iterator[list[Ceiling]]:
        precisions.append(bits)
        return blocks(noise, query, start, bits, r)

    monkeypatch.setattr(recurrence, "_blocks", record_bits)
    answers = list(islice(recurrence.iter_answers(noise, query, 1), 800))
    assert answers == list(islice(recurrence.iter_answers_exactly(noise, query), 800))
    assert len(precisions) > 2
    assert precisions == [precisions[0] << doublings for doublings in range(len(precisions))]


def test_a_ball_too_wide_for_many_digits_asks_for_more_bits_and_not_for_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Widths such as 2^-1320 are too small for a float, and too large for 400 digits."""
    noise = Discrete(255, "0.1")
    with precision(3_000):
        balls = recurrence.BallRecurrence(recurrence.ExactRecurrence(noise.weights))
        wide = arb(arb(10) ** -100, arb(2) ** -1320)
        monkeypatch.setattr(recurrence.BallRecurrence, "complement", lambda _: wide)
        with pytest.raises(Undecided):
            recurrence._answer(noise, CeilingQuery(400), balls)


@pytest.mark.parametrize("r_tie", [150, 151, 153])
def test_a_tie_that_no_ball_resolves_is_passed_in_integers(r_tie: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """F = 1/2 exactly at some radius: every ball there is undecided, at any precision."""
    noise, query = Discrete(255, "0.1"), CeilingQuery(20)
    monkeypatch.setattr(recurrence, "EXACT_BITS", 64)
    step = recurrence.BallRecurrence.step

    def step_with_tie(self: recurrence.BallRecurrence) -> None:
        step(self)
        if self.r == r_tie:
            raise Undecided

    monkeypatch.setattr(recurrence.BallRecurrence, "step", step_with_tie)
    result = list(islice(recurrence.iter_answers(noise, query, 200), 200))
    assert result == list(islice(recurrence.iter_answers_exactly(noise, query), 200))


def test_an_answer_that_is_an_exact_decimal_comes_from_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the exact phase cut short, the exact decimals of K = 1, α = 4/5 meet the balls, which cannot settle them."""
    monkeypatch.setattr(recurrence, "EXACT_BITS", 4)
    noise, query = Discrete(1, "4/5"), RowQuery(1)
    query.bits = 1
    fast = list(islice(recurrence.iter_answers(noise, query, 60), 60))
    assert fast == list(islice(recurrence.iter_answers_exactly(noise, query), 60))
