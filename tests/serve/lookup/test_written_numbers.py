"""Numbers as text are decided by the doubles around them only where that is what they are worth exactly."""

from collections.abc import Sequence
from fractions import Fraction
from math import nextafter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises

from ellzero.certificates import Discrete, min_p, radius, single_threshold
from ellzero.serve.lookup.request_models import parse_batch
from ellzero.serve.lookup.written_numbers import enclose, find_radii
from ellzero.tables import ThresholdIndex, bundled_index

decimals = st.builds(
    lambda digits, places: f"{digits}e-{places}" if places > 40 else f"{Fraction(digits, 10**places)}",
    st.integers(0, 10**30),
    st.integers(25, 420),
)
plain = st.builds(lambda digits: f"0.{digits}", st.from_regex(r"[0-9]{1,30}", fullmatch=True))
doubles = st.floats(0, 1).map(lambda x: str(Fraction(x)))
texts = st.lists(decimals | plain | doubles | st.sampled_from(["0", "1", "1/2", "1e-400", "0.5", "1.0"]), min_size=1)


@given(texts)
def test_the_doubles_enclose_every_number(numbers: list[str]) -> None:
    enclosure = enclose(numbers)
    assert enclosure is not None
    for text, inside, low, high in zip(numbers, enclosure.inside, enclosure.low, enclosure.high, strict=True):
        exact = Fraction(text)
        if inside:
            assert Fraction(float(low)) <= exact <= Fraction(float(high))
            assert low == high or Fraction(float(low)) < exact < Fraction(float(high))
            assert high <= nextafter(nextafter(low, 1.0), 1.0)
        else:
            assert not 0 < float(exact) < 1 or float(exact) == 0.5


@given(st.lists(st.floats(1e-280, 1, exclude_max=True).filter(lambda x: x != 0.5), min_size=1))
def test_a_double_as_a_fraction_is_that_double(values: list[float]) -> None:
    enclosure = enclose([str(Fraction(value)) for value in values])
    assert enclosure is not None
    assert enclosure.low.tolist() == enclosure.high.tolist() == values


@given(st.lists(plain | st.floats(0, 1).map(repr) | st.sampled_from(["1e-400", "1", "0.5"]), min_size=1))
def test_json_numbers_are_enclosed_as_text_is(numbers: list[str]) -> None:
    body = f'{{"k": 1, "alpha": "0.7", "d": 9, "p": [{", ".join(numbers)}]}}'
    p = parse_batch(body.encode()).p
    assert p == numbers
    from_json, from_text = enclose(p), enclose(numbers)
    assert from_json is not None
    assert from_text is not None
    np.testing.assert_array_equal(from_json, from_text)


@pytest.mark.parametrize("above", [2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1])
@pytest.mark.parametrize("below", [2**62 + 3, 2**62, 3**50, 2**1_060])
def test_a_fraction_that_is_no_double_is_not_taken_for_one(above: int, below: int) -> None:
    exact = Fraction(above, below)
    enclosure = enclose([f"{above}/{below}"])
    assert enclosure is not None
    low, high = float(enclosure.low[0]), float(enclosure.high[0])
    assert Fraction(low) < exact < Fraction(high) or Fraction(low) == exact == Fraction(high)


@settings(max_examples=60, deadline=None)
@given(noises(max_k=20), st.lists(plain | doubles, min_size=1), st.integers(1, 40), st.booleans())
def test_radii_are_those_of_exact_arithmetic(noise: Discrete, numbers: list[str], d: int, fresh: bool) -> None:
    enclosure = enclose(numbers)
    assert enclosure is not None
    result = find_radii(ThresholdIndex({}) if fresh else bundled_index(), noise, d, enclosure)
    for place, (text, certified) in enumerate(zip(numbers, result.radii, strict=True)):
        if place not in result.undecided:
            assert certified == radius(noise, text, d)


@pytest.mark.parametrize("r", [1, 2, 5])
def test_numbers_beside_a_threshold_are_left_to_exact_arithmetic(r: int) -> None:
    noise = Discrete(1, "0.7")
    tau, least = single_threshold.threshold(noise, r), min_p(noise, r)
    step = Fraction(1, 10**30)
    close = [_decimal(number) for number in (tau, tau + step, tau - step, Fraction(least) - step)]
    enclosure = enclose(close)
    assert enclosure is not None
    assert find_radii(bundled_index(), noise, 9, enclosure).undecided == list(range(len(close)))
    both = enclose([str(Fraction(least)), str(Fraction(nextafter(least, 0.0)))])
    assert both is not None
    assert find_radii(bundled_index(), noise, 9, both)[:2] == ([r, r - 1], [])


@pytest.mark.parametrize(
    "odd",
    [
        " 0.5",
        "",
        "nan",
        "inf",
        "abc",
        "1_0",
        "٠.٥",
        "0.5,0.6",
        "1e",
        "1e-99999",
        "1/+2",
        "1/-2",
        "1/0",
        "1/2/3",
        "1.5/2",
    ],
)
def test_numbers_in_an_unusual_form_are_left_to_the_reader_of_numbers(odd: str) -> None:
    assert enclose(["0.75", odd]) is None


@pytest.mark.parametrize("values", [["0.75", 1], ["0.75", None], ["0.75", True], [["0.75"]]])
def test_what_is_no_text_is_left_to_it_too(values: Sequence[object]) -> None:
    assert enclose(values) is None


def _decimal(number: Fraction) -> str:
    """40 digits, exact for thresholds of few coordinates."""
    scaled = number * 10**40
    return f"0.{int(scaled):040d}"
