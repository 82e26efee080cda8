"""Every number reaches the service as exactly the number that the caller has."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from client.echo import Echo
from hypothesis import HealthCheck, given, settings, strategies as st

from ellzero.certificates import InvalidInput
from ellzero.client import Client, RadiiArray, RadiusAnswer, UnsendableValue
from ellzero.tables import LocalClient

NOISE = {"k": 255, "d": 784}

doubles = st.floats(0.0, 1.0) | st.sampled_from([5e-324, 1e-300])

fractions = st.fractions(0, 1, max_denominator=10**90)

decimals = st.decimals(0, 1, allow_nan=False, allow_infinity=False) | st.builds(
    lambda digits, places: Decimal(digits).scaleb(-places), st.integers(0, 10**60), st.integers(61, 180)
)

numbers = doubles | fractions | decimals | st.sampled_from([0, 1, 5e-5, Fraction(1, 3), Decimal("1E-20")])

shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@shared
@given(numbers, numbers)
def test_a_number_in_a_query_arrives_as_that_rational(client: Client, p: float, p_b: float) -> None:
    answer = client.radius(p, p_b=p_b, alpha="0.2", **NOISE)
    assert answer.p is not None
    assert answer.p_b is not None
    assert (Fraction(answer.p), Fraction(answer.p_b)) == (Fraction(p), Fraction(p_b))


@shared
@given(st.lists(numbers | st.floats(0, 1), min_size=1))
def test_the_numbers_of_a_list_arrive_as_those_rationals(client: Client, echo: Echo, p: list[float]) -> None:
    """Tiny doubles too, as text: a JSON number is the decimal that it writes, which no double's shortest text is."""
    echo.requests.clear()
    client.radius(p, p_b=p, alpha="0.2", **NOISE)
    (fields,) = echo.requests
    assert [Fraction(value) for value in fields["p"]] == [Fraction(value) for value in p]
    assert fields["p_b"] == fields["p"]


@shared
@given(st.floats(1e-100, 1, exclude_max=True))
def test_a_float_alpha_and_failure_stand_for_their_shortest_decimals(client: Client, value: float) -> None:
    answer = client.radius(count=1, n=2, alpha=value, failure=value, **NOISE)
    assert Fraction(answer.alpha) == Fraction(repr(value))
    assert answer.failure == answer.alpha
    assert Fraction(client.radius([0.5], alpha=value, **NOISE).alpha) == Fraction(repr(value))
    assert client.radius(np.array([0.5]), alpha=value, **NOISE).alpha == answer.alpha


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble])
def test_numpy_scalars_are_numbers(client: Client, echo: Echo, kind: type) -> None:
    p = kind("0.1")
    exact = str(Fraction(*map(int, p.as_integer_ratio())))
    answer: RadiusAnswer = client.radius(p, k=np.int16(255), d=np.int64(784), alpha=p)  # type: ignore[call-overload]
    assert (answer.p, answer.alpha, answer.k) == (exact, "1/10", 255)
    client.radius([p], alpha="0.1", **NOISE)
    assert Fraction(echo.requests[-1]["p"][0]) == Fraction(exact)


def test_text_is_sent_as_it_is(client: Client, echo: Echo) -> None:
    client.radius("0.9900", alpha=" 1/5 ", **NOISE)
    assert echo.requests == [{"p": "0.9900", "alpha": " 1/5 ", "k": "255", "d": "784"}]
    client.radius("1e+0", alpha="2e-1", **NOISE)
    assert echo.requests[1]["p"] == "1e+0", "the plus sign of an exponent survives the query"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": float("nan")}, "p must be a finite number that 400 characters write exactly; got nan"),
        ({"p": [0.5, float("inf")]}, "p must be a finite number that 400 characters write exactly; got inf"),
        ({"p": Decimal("NaN")}, "p must be a finite number"),
        ({"p": True}, "p must be a finite number"),
        ({"p": 10**5000}, "p must be a finite number that 400 characters write exactly; got a int too long to print"),
        ({"p": Fraction(1, 3**2000)}, "p must be a finite number"),
        ({"p": "٠.٥"}, "p must be a finite number"),
        ({"p": object()}, "p must be a finite number"),
        ({"p": 0.9, "p_b": [0.1]}, "p_b must be one number, because p is one number; got [0.1]"),
        ({"p": [0.9], "p_b": [0.1, 0.2]}, "p_b must be one number, or as many as p has (1); got '2 numbers'"),
        ({"p": np.ones(2), "p_b": np.ones(3)}, "p_b must be one number, or an array of p's shape (2,)"),
        ({"p": np.ones(2, int)}, "p must be an array of float64, float32 or float16"),
        ({"p": np.ones(2, np.longdouble)}, "p must be an array of float64, float32 or float16"),
        ({"p": np.ones((3, 0))}, "p must be at least one value; got 'an array of shape (3, 0)'"),
        ({"count": np.ones(0, int), "n": 5}, "count must be at least one value"),
        ({"count": np.ones(2), "n": 5}, "count must be an array of integers"),
        ({"count": np.array([2**64 - 1], np.uint64), "n": 5}, "count must be an array of integers from 0 to n"),
        ({"count": 1.0, "n": 5}, "count must be an integer; got 1.0"),
        ({"count": [1, True], "n": 5}, "count must be an integer; got True"),
        ({"p": 0.9, "k": 2.5}, "k must be an integer; got 2.5"),
        ({"p": 0.9, "k": 10**1000}, "k must be an integer"),
    ],
)
def test_values_that_cannot_be_sent_are_refused_before_any_request(
    client: Client, echo: Echo, arguments: dict[str, object], message: str
) -> None:
    call = {"k": 255, "alpha": "0.2", "d": 784, **arguments}
    with pytest.raises(UnsendableValue) as caught:
        client.radius(**call)  # type: ignore[call-overload]
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
    assert echo.requests == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "p must be given, or count and n instead; got None"),
        ({"p": 0.9, "count": 1, "n": 2}, "p must be given without count and n, or left out; got 'all of them'"),
        ({"count": 1}, "n must be given with count; got None"),
        ({"p": 0.9, "n": 5}, "p must be given without count and n, or left out; got 'p and n'"),
        ({"p": 0.9, "failure": 0.1}, "failure must be given with count and n only; got 0.1"),
        ({"count": 1, "n": 2, "p_b": 0.1}, "p_b must be given with p only; got 0.1"),
    ],
)
def test_a_radius_needs_one_kind_of_evidence(client: Client, arguments: dict[str, object], message: str) -> None:
    """And the message is the same with a service and without."""
    with pytest.raises(UnsendableValue, match=f"^{message}$"):
        client.radius(alpha="0.2", **NOISE, **arguments)  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        LocalClient().radius(alpha="0.2", **NOISE, **arguments)  # type: ignore[call-overload]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (2, 1, 4)])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, ">f8", np.uint8, np.int64, np.uint64])
def test_arrays_of_any_shape_and_width(client: Client, echo: Echo, shape: tuple[int, ...], kind: str) -> None:
    values = (np.arange(np.prod(shape, dtype=int)) % 9).reshape(shape)
    if np.dtype(kind).kind == "f":
        array = np.asarray(values / 9, kind)
        answer: RadiiArray = client.radius(array, alpha="0.2", p_b=0.25, **NOISE)
        expected = np.floor(array.astype(float) * 1000)
    else:
        array = np.asarray(values, kind)
        answer = client.radius(count=array, n=9, failure=0.01, alpha="0.2", **NOISE)
        expected = values
    query, sent = echo.requests[0]
    assert sent.dtype == (np.float64 if "f" in np.dtype(kind).str else np.int64)
    assert np.array_equal(sent, array.ravel()), "values widen exactly, in C order"
    assert query == {"k": "255", "d": "784", "alpha": "0.2"} | (
        {"p_b": "1/4"} if array.dtype.kind == "f" else {"n": "9", "failure": "0.01"}
    )
    assert answer.radii.shape == shape
    assert answer.radii.dtype == np.int32
    assert np.array_equal(answer.radii, np.where(expected == 0, -1, expected))
    assert (answer.k, answer.alpha, answer.d, answer.source) == (255, "1/5", 784, "table")


def test_arrays_in_fortran_order_keep_their_places(client: Client) -> None:
    array = np.asfortranarray(np.arange(6).reshape(2, 3) + 1)
    assert np.array_equal(client.radius(count=array, n=9, alpha="0.2", **NOISE).radii, array)


def test_a_p_b_for_each_p_of_an_array(client: Client, echo: Echo) -> None:
    p = np.array([[0.5, 0.75], [0.25, 0.0]])
    answer = client.radius(p, p_b=p / 2, alpha="0.2", **NOISE)
    assert answer.radii.tolist() == [[500, 750], [250, -1]]
    assert answer.radii.dtype == np.int32
    assert echo.requests[0]["p_b"] == ["1/4", "3/8", "1/8", "0"]
    assert client.radius(p[0], p_b=["1/5", 0], alpha="0.2", **NOISE).radii.tolist() == [500, 750]
    assert client.radius([0.5, 1], p_b=p[0], alpha="0.2", **NOISE).radii == [500, 1000]


def test_large_arrays_are_split_into_several_requests(client: Client, echo: Echo) -> None:
    counts = np.arange(2_000_001, dtype=np.int64).reshape(3, -1) % 998
    answer = client.radius(count=counts, n=1000, alpha="0.2", **NOISE)
    assert [len(array) for _, array in echo.requests] == [1_000_000, 1_000_000, 1]
    assert np.array_equal(answer.radii, np.where(counts == 0, -1, counts))
    assert answer.source == "table"
    counts[-1, -1] = 999
    assert client.radius(count=counts, n=1000, alpha="0.2", **NOISE).source == "computed", "as one of the parts was"


def test_long_lists_are_split_into_several_requests(client: Client, echo: Echo) -> None:
    counts = [value % 998 for value in range(80_001)]
    answer = client.radius(count=counts, n=1000, alpha="0.2", **NOISE)
    assert [len(fields["count"]) for fields in echo.requests] == [40_000, 40_000, 1]
    assert answer.radii == [value or None for value in counts]
    assert answer.source == "table"
    assert client.radius(count=(*counts, 999), n=1000, alpha="0.2", **NOISE).source == "computed"


@pytest.mark.parametrize("x", [np.array([], np.int64), np.array(["a"]), [object()], [float("nan")]])
def test_inputs_that_cannot_be_sent_are_refused(x: Any) -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(UnsendableValue, match="x must be an array"):
        client.certify("small", x)
