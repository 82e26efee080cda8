"""Radii: decided strictly and exactly, for one class and for two."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import nextafter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises, probabilities

from ellzero.certificates import Discrete, InvalidInput, certify, min_p, radius, rho, single_threshold
from ellzero.certificates.radii import certifies

HALF = Fraction(1, 2)


def slow_radius(noise: Discrete, p: Fraction, d: int) -> int | None:
    return max((r for r in range(d + 1) if p > single_threshold.threshold(noise, r)), default=None)


@settings(max_examples=60)
@given(
    noises(),
    st.one_of(probabilities(), st.integers(1, 60).map(lambda bits: 1 - Fraction(1, 2**bits))),
    st.integers(1, 60),
)
def test_the_radius_is_the_last_whose_threshold_p_exceeds(noise: Discrete, p: Fraction, d: int) -> None:
    assert radius(noise, p, d) == slow_radius(noise, p, d)


@given(noises(), st.integers(0, 60))
def test_a_threshold_itself_certifies_less_than_anything_above_it(noise: Discrete, r: int) -> None:
    exact, d = single_threshold.threshold(noise, r), 100
    reached = radius(noise, exact, d)
    assert reached is None if exact == HALF else reached is not None and reached < r
    above = radius(noise, exact + (1 - exact) / 10**40, d)
    assert above is not None
    assert above >= r


@given(noises(), st.integers(0, 40))
def test_doubles_are_decided_at_min_p(noise: Discrete, r: int) -> None:
    least = min_p(noise, r)
    below = radius(noise, nextafter(least, 0.0), 100)
    at = radius(noise, least, 100)
    assert below is None or below < r
    assert at is not None
    assert at >= r


def slow_two_class(noise: Discrete, p_a: Fraction, p_b: Fraction, d: int) -> int | None:
    p_b = min(p_b, 1 - p_a)
    certified = [r for r in range(d + 1) if rho(noise, r, p_a) > 1 - rho(noise, r, 1 - p_b)]
    return max(certified, default=None)


@settings(max_examples=60)
@given(noises(), probabilities(1000), probabilities(1000), st.integers(1, 40))
def test_two_classes(noise: Discrete, p_a: Fraction, p_b: Fraction, d: int) -> None:
    result = radius(noise, p_a, d, p_b)
    assert result == slow_two_class(noise, p_a, p_b, d)
    alone = radius(noise, p_a, d)
    assert alone is None or (result is not None and result >= alone)


@settings(max_examples=10)
@given(noises(), st.integers(450, 900), probabilities(1000), probabilities(1000))
def test_two_classes_at_large_radii_are_decided_as_in_integers(
    noise: Discrete, r: int, p_a: Fraction, p_b: Fraction
) -> None:
    if 0 < p_a < 1 and 0 < p_b < 1:
        assert certifies(noise, r, p_a, p_b) == (rho(noise, r, p_a) > 1 - rho(noise, r, 1 - p_b))


@settings(max_examples=10)
@given(noises(), st.integers(450, 900), st.integers(100, 600), probabilities(1000))
def test_a_tiny_p_b_is_decided_as_in_integers(noise: Discrete, r: int, digits: int, p_a: Fraction) -> None:
    p_b = Fraction(1, 10**digits)
    if 0 < p_a < 1:
        assert certifies(noise, r, p_a, p_b) == (rho(noise, r, p_a) > 1 - rho(noise, r, 1 - p_b))


def test_a_tiny_p_b_takes_no_large_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Fraction:
        raise AssertionError("decided in integers")

    monkeypatch.setattr("ellzero.certificates.radii.rho", never)
    assert certifies(Discrete(1, "0.53"), 12_000, Fraction(3, 5), Fraction(1, 10**160))


def test_no_other_class_ever_means_nothing_to_be_confused_with() -> None:
    assert radius(Discrete(255, "0.2"), "0.3", 150528, 0) == 150528


def test_two_classes_by_hand() -> None:
    noise = Discrete(1, "0.8")
    assert radius(noise, "0.88", 10, "0.20") == 1  # weaker than one class without min(p_b, 1 − p_a)
    assert radius(noise, "0.4", 10, "0.3") == 0
    assert radius(noise, "0.4", 10, "0.4") is None
    assert radius(noise, "0.3", 10, "0.4") is None


@pytest.mark.parametrize(("p", "expected"), [("0.5", None), ("0.49", None), (0, None), (1, 50), ("0.500001", 50)])
def test_flat_noise_certifies_everything_above_one_half(p: object, expected: int | None) -> None:
    assert radius(Discrete(3, "1/4"), p, 50) == expected  # type: ignore[arg-type]


def test_certainty_certifies_every_coordinate() -> None:
    assert radius(Discrete(255, "0.1"), 1, 150528) == 150528
    assert radius(Discrete(255, "0.1"), 1.0, 150528, 0.3) == 150528


def test_at_certainty_no_threshold_decides() -> None:
    result = certify(Discrete(255, "0.2"), 1, 784)
    assert (result.radius, result.threshold, result.next_threshold, result.margin) == (784, None, None, None)


def test_the_iteration_over_radii_can_be_watched() -> None:
    answers: list[bool] = []

    def watch(iterable: Iterable[bool]) -> Iterator[bool]:
        for answer in iterable:
            answers.append(answer)
            yield answer

    assert radius(Discrete(255, "0.2"), "0.99", 784, watch=watch) == 3
    assert answers == [True, True, True, True, False]


def test_a_probability_extremely_close_to_one() -> None:
    noise, p = Discrete(255, "0.2"), 1 - Fraction(1, 10**60)
    result = radius(noise, p, 150528)
    assert result is not None
    assert single_threshold.threshold(noise, result) < p <= single_threshold.threshold(noise, result + 1)


def test_a_float_of_any_width_counts_as_its_exact_value() -> None:
    noise, wide = Discrete(1, "588725874692858071/1063003439345424533"), np.longdouble("0.5972")
    exact = Fraction(*map(int, wide.as_integer_ratio()))
    assert radius(noise, wide, 10) == radius(noise, exact, 10)  # type: ignore[arg-type]
    assert radius(noise, np.float32(0.7), 10) == radius(noise, Fraction(float(np.float32(0.7))), 10)  # type: ignore[arg-type]


def test_a_margin_is_never_negative() -> None:
    assert certify(Discrete(255, "0.2"), "0.696863", 784, digits=3).margin == 0


def test_a_certificate_says_why() -> None:
    certificate = certify(Discrete(255, "0.2"), "0.99", 150528)
    assert certificate.radius == 3
    assert str(certificate.threshold) == "0.97898829668830238747"
    assert str(certificate.next_threshold) == "0.99493645881485561183"
    assert certificate.margin == Fraction("0.99") - Fraction("0.97898829668830238747")
    assert certify(Discrete(255, "0.2"), "0.99", 3).next_threshold is None
    assert certify(Discrete(255, "0.2"), "0.3", 3).radius is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("1.1", 5), "p must be a number from 0 to 1; got '1.1'"),
        ((float("nan"), 5), "p must be a number from 0 to 1; got nan"),
        ((0.6, 0), "d must be an integer from 1 to "),
        ((0.6, 5, -0.1), "p_b must be a number from 0 to 1; got -0.1"),
    ],
)
def test_bad_input(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        radius(Discrete(1, "0.8"), *arguments)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)
