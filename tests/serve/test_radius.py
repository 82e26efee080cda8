"""GET /v1/radius: what one probability, or votes, certify, and why."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from ellzero.certificates import Discrete, Votes, certify, lower_bound, min_count, radius, radius_from_votes, thresholds
from ellzero.core.conventions import CONVENTIONS
from ellzero.core.schemas import RadiusAnswer, Source

BYTES = {"k": 255, "alpha": "0.2", "d": 150528}


def get_radius(client: TestClient, **query: object) -> RadiusAnswer:
    response = client.get("/v1/radius", params={name: str(value) for name, value in query.items()})
    assert response.status_code == 200, response.text
    return TypeAdapter(RadiusAnswer).validate_json(response.content)


def test_the_answer_says_the_radius_and_why(client: TestClient) -> None:
    answer = get_radius(client, p="0.99", **BYTES)
    assert answer == RadiusAnswer(
        radius=3,
        threshold=Decimal("0.97898829668830238747"),
        next_threshold=Decimal("0.99493645881485561183"),
        margin=Decimal("0.01101170331169761253"),
        source=Source.TABLE,
        k=255,
        alpha="1/5",
        d=150528,
        p="0.99",
        conventions=CONVENTIONS,
    )


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_a_probability_certifies_what_exact_arithmetic_says(client: TestClient, data: st.DataObject) -> None:
    noise = data.draw(noises())
    d = data.draw(st.integers(1, 60))
    p = data.draw(st.one_of(st.fractions(0, 1, max_denominator=10**25), st.fractions(Fraction(9, 10), 1)))
    if data.draw(st.booleans()):  # right at a threshold, and next to it
        tau = Fraction(thresholds(noise, [data.draw(st.integers(0, 5))])[0])
        p = min(max(tau + data.draw(st.integers(-1, 1)) * Fraction(1, 10**21), Fraction(0)), Fraction(1))
    answer = get_radius(client, p=p, k=noise.k, alpha=noise.alpha, d=d)
    expected = certify(noise, p, d)
    assert answer.radius == expected.radius
    assert answer.p == str(p)
    if p < 1:
        assert answer.threshold == expected.threshold
        assert answer.next_threshold == expected.next_threshold
        if expected.margin is not None:
            assert answer.margin is not None
            assert 0 <= expected.margin - Fraction(answer.margin) < Fraction(1, 10**20)


@pytest.mark.parametrize(("p", "certified"), [("1/2", None), ("0.50000000000000000001", 0), ("0", None), ("1", 150528)])
def test_without_a_runner_up_it_abstains_iff_p_is_at_most_a_half(
    client: TestClient, p: str, certified: int | None
) -> None:
    assert get_radius(client, p=p, **BYTES).radius == certified


def test_text_is_exact_where_a_double_would_round(client: TestClient) -> None:
    tau = thresholds(Discrete(1, "4/5"), [2])[0]  # 0.96875 exactly
    assert get_radius(client, p=tau, k=1, alpha="4/5", d=9).radius == 1
    assert get_radius(client, p=f"{tau}00000000000000001", k=1, alpha="4/5", d=9).radius == 2


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_runner_up_is_the_two_class_certificate(client: TestClient, data: st.DataObject) -> None:
    noise = data.draw(noises(max_k=20))
    d = data.draw(st.integers(1, 40))
    p, p_b = (data.draw(st.fractions(0, 1, max_denominator=1000)) for _ in range(2))
    answer = get_radius(client, p=p, p_b=p_b, k=noise.k, alpha=noise.alpha, d=d)
    assert answer.radius == radius(noise, p, d, p_b)
    if not p > p_b:
        assert answer.radius is None or p_b > 1 - p  # every other class has at most 1 − p as well


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_votes_certify_what_exact_arithmetic_says(client: TestClient, data: st.DataObject) -> None:
    noise = data.draw(noises(max_k=20))
    n = data.draw(st.integers(1, 3_000))
    count = data.draw(st.one_of(st.integers(0, n), st.integers(max(0, n - 9), n)))
    failure = data.draw(st.sampled_from(["0.001", "1/20", "0.3"]))
    d = data.draw(st.integers(1, 50))
    answer = get_radius(client, count=count, n=n, failure=failure, k=noise.k, alpha=noise.alpha, d=d)
    votes = Votes(count, n, failure)
    assert answer.radius == radius_from_votes(noise, votes, d)
    low = Fraction(lower_bound(votes))
    assert answer.p_lower is not None
    assert 0 <= low - Fraction(answer.p_lower) < Fraction(1, 10**20)
    following = 0 if answer.radius is None else answer.radius + 1
    if answer.radius is not None:
        assert answer.min_count == min_count(noise, answer.radius, n, failure)
        assert answer.min_count is not None
        assert count >= answer.min_count
    assert answer.next_min_count == (min_count(noise, following, n, failure) if following <= d else None)


def test_the_failure_probability_is_a_thousandth_unless_given(client: TestClient) -> None:
    votes: dict[str, Any] = {"count": 99900, "n": 100000, **BYTES}
    assert get_radius(client, **votes) == get_radius(client, failure="0.001", **votes)


def test_the_source_says_whether_the_radius_was_computed(client: TestClient) -> None:
    assert get_radius(client, p="0.9", k=255, alpha="0.2", d=784).source == "table"
    assert get_radius(client, p="0.9", k=253, alpha="0.2", d=784).source == "computed"
