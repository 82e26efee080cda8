"""A noise is read exactly, whatever form α comes in, and refused with one clear line."""

import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from oracles.strategies import noises

from ellzero.certificates import Discrete, InvalidInput, rho_inverse


@pytest.mark.parametrize(
    "alpha",
    ["0.8", "4/5", ".8", " 0.80 ", "8e-1", 0.8, Fraction(4, 5), Decimal("0.8"), np.float64(0.8), np.float32(0.8)],
)
def test_alpha_means_the_same_in_every_form(alpha: object) -> None:
    assert Discrete(1, alpha) == Discrete(1, Fraction(4, 5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "alpha",
    [
        0,
        1,
        1.5,
        -0.1,
        "0",
        "1",
        "1.5",
        "x",
        "",
        "1/0",
        "nan",
        "inf",
        "1e999999999",
        "0.8/1",
        "⁴/5",
        True,
        None,
        1j,
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        Decimal("1E-999999"),
        Fraction(1, 2**63),
        "0." + "3" * 6000,
    ],
)
def test_a_bad_alpha_is_a_value_error_that_names_field_and_range(alpha: object) -> None:
    with pytest.raises(
        ValueError, match=r"^alpha must be a rational number strictly between 0 and 1, .*; got "
    ) as error:
        Discrete(1, alpha)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize("k", [0, -1, 10**8 + 1, 1.0, "1", True, None])
def test_a_bad_k_is_a_value_error(k: object) -> None:
    with pytest.raises(InvalidInput, match=r"^k must be an integer from 1 to 100000000; got "):
        Discrete(k, "0.8")  # type: ignore[arg-type]


def test_the_extremes_are_allowed() -> None:
    assert Discrete(10**8, Fraction(1, 2**63 - 1)).beta > Discrete(10**8, Fraction(1, 2**63 - 1)).alpha
    assert Discrete(np.int64(3), "0.5").k == 3  # type: ignore[arg-type]


@given(noises())
def test_weights_are_the_probabilities_as_coprime_integers(noise: Discrete) -> None:
    a, m, b, z = noise.weights
    assert (Fraction(a, z), Fraction(b, z), Fraction(m, z)) == (noise.alpha, noise.beta, (noise.k - 1) * noise.beta)
    assert Fraction(a, b).numerator == a
    assert noise.is_flat == (noise.alpha == noise.beta)


@given(noises())
def test_one_change_has_a_closed_form(noise: Discrete) -> None:
    """With α ≥ β; otherwise with α and β exchanged."""
    high, low = max(noise.alpha, noise.beta), min(noise.alpha, noise.beta)
    half = Fraction(1, 2)
    assert rho_inverse(noise, 1, half) == (half + high - low if high <= half else 1 - low / (2 * high))


@given(noises())
def test_a_noise_can_be_shown_pickled_and_used_as_a_key(noise: Discrete) -> None:
    assert eval(repr(noise)) == noise
    assert {pickle.loads(pickle.dumps(noise))} == {noise}


def test_an_error_about_a_number_too_long_to_print_is_still_one_line() -> None:
    with pytest.raises(InvalidInput) as error:
        Discrete(1, Fraction(10**5000 + 1, 10**5000))
    assert str(error.value).endswith("got a Fraction too long to print")


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(InvalidInput("alpha", "good", "x")))
    assert str(error) == "alpha must be good; got 'x'"
