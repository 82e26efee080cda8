"""GET /v1/thresholds, /v1/plan, /v1/compare and /v1/tables."""

from decimal import Decimal
from fractions import Fraction
from io import BytesIO
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from ellzero.certificates import (
    Discrete,
    Sparse,
    column,
    gaussian_l0_radius,
    gaussian_l0_threshold,
    min_count,
    plan,
    radius,
    reachable_radius,
    sigma_for_alpha,
    thresholds,
)
from ellzero.core.schemas import CompareAnswer, PlanAnswer, Source, TablesAnswer, ThresholdsAnswer
from ellzero.tables import bundled_index


@given(noise=noises(max_k=300), r_max=st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_thresholds_are_the_engines(client: TestClient, noise: Discrete, r_max: int) -> None:
    response = client.get("/v1/thresholds", params={"k": noise.k, "alpha": str(noise.alpha), "r_max": r_max})
    answer = TypeAdapter(ThresholdsAnswer).validate_json(response.content)
    expected = column(noise, r_max)
    assert [(row.r, row.threshold, row.exact, row.min_p) for row in answer.rows] == [
        (row.r, row.value, row.exact, row.min_p) for row in expected.rows
    ]
    assert (answer.end == "complete") == expected.saturated


def test_a_whole_column_ends_at_saturation(client: TestClient) -> None:
    answer = TypeAdapter(ThresholdsAnswer).validate_json(client.get("/v1/thresholds?k=255&alpha=0.2").content)
    assert answer.end == "complete"
    assert answer.rows[-1].threshold == 1
    assert answer.source == "table"


def test_csv_and_arrow_have_the_same_rows(client: TestClient) -> None:
    query = "/v1/thresholds?k=255&alpha=0.2&r_max=9"
    csv = client.get(query, headers={"accept": "text/csv"})
    assert csv.headers["content-type"].startswith("text/csv")
    assert "at most r coordinates" in csv.headers["ellzero-conventions"]
    lines = csv.text.splitlines()
    arrow = client.get(query, headers={"accept": "application/vnd.apache.arrow.stream"})
    table = pa.ipc.open_stream(BytesIO(arrow.content)).read_all()
    expected = thresholds(Discrete(255, "0.2"), range(10))
    assert [Decimal(line.split(",")[4]) for line in lines[1:]] == expected
    assert table["threshold"].to_pylist() == expected
    assert table["r"].to_pylist() == list(range(10))
    assert lines[0].split(",") == table.column_names


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("text/*", "text/csv"),
        ("application/json;q=0.3, text/csv;q=0.8", "text/csv"),
        ("text/html, */*;q=0.1", "application/json"),
        ("text/csv;q=0, */*", "application/json"),
    ],
)
def test_the_preferred_type_is_sent(client: TestClient, accept: str, kind: str) -> None:
    response = client.get("/v1/thresholds?k=1&alpha=0.8&r_max=2", headers={"accept": accept})
    assert response.headers["content-type"].startswith(kind)


def test_an_unavailable_media_type_is_406(client: TestClient) -> None:
    response = client.get("/v1/thresholds?k=1&alpha=0.8&r_max=2", headers={"accept": "image/png"})
    assert response.status_code == 406
    assert "text/csv" in response.json()["detail"]


def test_a_plan_says_how_many_votes_a_radius_needs(client: TestClient) -> None:
    answer = TypeAdapter(PlanAnswer).validate_json(client.get("/v1/plan?k=255&alpha=0.2&r=3&p=0.99").content)
    expected = plan(Discrete(255, "0.2"), 3, "0.99")
    assert expected is not None
    assert (answer.n, answer.min_count) == (expected.n, expected.min_count)
    unreachable = client.get("/v1/plan?k=255&alpha=0.2&r=9&p=0.6").json()
    assert unreachable["n"] is None


@pytest.mark.parametrize("n", [1, 10, 1000, 100_000])
def test_a_plan_says_how_far_votes_reach(client: TestClient, n: int) -> None:
    answer = TypeAdapter(PlanAnswer).validate_json(client.get(f"/v1/plan?k=255&alpha=0.2&n={n}&d=784").content)
    noise = Discrete(255, "0.2")
    assert answer.r == reachable_radius(noise, n, "0.001", 784)
    assert answer.min_count == (None if answer.r is None else min_count(noise, answer.r, n))


@given(
    alpha=st.fractions(Fraction(51, 100), Fraction(99, 100), max_denominator=100),
    p=st.fractions(0, 1, max_denominator=10**6),
)
@settings(max_examples=40, deadline=None)
def test_the_comparison_is_that_of_the_two_certificates(client: TestClient, alpha: Fraction, p: Fraction) -> None:
    query: dict[str, str | int] = {"alpha": str(alpha), "p": str(p), "d": 784, "r_max": 5}
    answer = TypeAdapter(CompareAnswer).validate_json(client.get("/v1/compare", params=query).content)
    noise, sigma = Discrete(1, alpha), sigma_for_alpha(alpha)
    assert answer.sigma == sigma
    assert answer.discrete == radius(noise, p, 784)
    assert answer.gaussian == gaussian_l0_radius(sigma, p, 784)
    assert [row.discrete for row in answer.rows] == thresholds(noise, range(6))
    assert [row.gaussian for row in answer.rows] == [gaussian_l0_threshold(sigma, r) for r in range(6)]


def test_tables_lists_the_columns(client: TestClient) -> None:
    answer = TypeAdapter(TablesAnswer).validate_json(client.get("/v1/tables").content)
    index = bundled_index()
    assert answer.table == "reference"
    assert len(answer.columns) == len(index.noises)
    assert answer.rows == 421_174 + sum(group.rows for group in answer.families)
    sparse = {"family": "sparse", "p_add": "1/100", "p_del": "3/5"}
    (group,) = (group for group in answer.families if group.family == sparse)
    assert (group.q, group.largest) == ("1/2", {"add": 10, "delete": 60})
    every = product(range(11), range(61))
    assert index.budget_rows(Sparse("0.01", "0.6"), every).source is Source.TABLE
    assert {(column.k, column.alpha) for column in answer.columns} == {(n.k, str(n.alpha)) for n in index.noises}
