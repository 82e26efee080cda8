"""POST /v1/radius: many values at once, as JSON and as `.npy`."""

from fractions import Fraction
from io import BytesIO
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray
from oracles.strategies import noises
from starlette.testclient import TestClient

from ellzero.certificates import Discrete, Votes, radius, radius_from_votes
from ellzero.tables import LocalClient

NPY = {"content-type": "application/x-npy"}
JSON = {"content-type": "application/json"}
BYTES: dict[str, Any] = {"k": 255, "alpha": "0.2", "d": 784}


def npy(array: NDArray[Any]) -> bytes:
    out = BytesIO()
    np.save(out, array)
    return out.getvalue()


def post_array(client: TestClient, array: NDArray[Any], **query: Any) -> NDArray[Any]:
    response = client.post("/v1/radius", params=query, content=npy(array), headers=NPY)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-npy"
    assert "at most r coordinates" in response.headers["ellzero-conventions"]
    radii: NDArray[Any] = np.load(BytesIO(response.content))
    assert radii.dtype == np.int32
    return radii


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_a_number_is_the_decimal_that_it_writes_as_a_json_number_and_as_text(
    client: TestClient, data: st.DataObject
) -> None:
    noise = data.draw(noises(max_k=20))
    exact = st.fractions(0, 1, max_denominator=10**6)
    values = data.draw(st.lists(st.one_of(st.floats(0, 1), exact.map(str), st.integers(0, 1)), min_size=1, max_size=8))
    d = data.draw(st.integers(1, 40))
    response = client.post("/v1/radius", json={"k": noise.k, "alpha": str(noise.alpha), "d": d, "p": values})
    assert response.json()["radii"] == [radius(noise, str(value), d) for value in values]


@pytest.mark.parametrize(
    ("p", "certified"),
    [
        ("0.9", 1),  # τ_2 of K = 1, α = 7/10 is 9/10, and the double 0.9 lies above it
        ("0.90000000000000000000000000000000000001", 2),
        ("0.99999999999999999999", 126),
        ("1.0", 150528),
        ("1", 150528),
        ("0.5", None),
        ("0.50000000000000000001", 0),
        ("5E-1", None),
        ("1e-400", None),
        ("0.0", None),
    ],
)
def test_a_json_number_is_read_by_its_text(client: TestClient, p: str, certified: int | None) -> None:
    noise, d = Discrete(1, "0.7"), 150528
    assert radius(noise, p, d) == certified
    for written in (p, f'"{p}"', f" {p} , 0.75", f'{p}, "3/4"', f"{p}\n,\t{p}"):
        content = f'{{"k": 1, "alpha": 0.7, "d": {d}, "p": [{written}]}}'
        response = client.post("/v1/radius", content=content, headers=JSON)
        assert response.json()["radii"][0] == certified, written
        assert response.json()["alpha"] == "7/10"
    assert client.get("/v1/radius", params={"k": 1, "alpha": "0.7", "d": d, "p": p}).json()["radius"] == certified
    assert LocalClient().radius([p], k=1, alpha="0.7", d=d).radii == [certified]


@pytest.mark.parametrize("p_b", ["1e-400", "0.1", "0.10000000000000000000000001", "0"])
def test_a_runner_up_is_read_by_its_text_too(client: TestClient, p_b: str) -> None:
    expected = [radius(Discrete(1, "0.7"), "0.9", 20_000, p_b)]
    assert expected != [20_000] or p_b == "0"
    for written in (p_b, f'"{p_b}"', f"[{p_b}]"):
        content = f'{{"k": 1, "alpha": "0.7", "d": 20000, "p": [0.9], "p_b": {written}}}'
        assert client.post("/v1/radius", content=content, headers=JSON).json()["radii"] == expected


def test_other_numbers_are_read_by_their_text(client: TestClient) -> None:
    content = '{"k": 1, "alpha": 0.7000000000000000001, "d": 9, "count": [9], "n": 9, "failure": 0.001}'
    response = client.post("/v1/radius", content=content, headers=JSON)
    assert response.status_code == 422
    assert response.json()["detail"].endswith("whose parts fit 63 bits; got '0.7000000000000000001'")


@pytest.mark.parametrize(
    "p", ["1.00000000000000000001", "-1e-400", "1e-5000", "1e999", "-0.1", "2", "0." + "1" * 400, "1" * 5_000]
)
def test_numbers_beyond_the_range_do_not_round_into_it(client: TestClient, p: str) -> None:
    for written in (p, f'"{p}"', f"0.75, {p}", f'"3/4", {p}'):
        response = client.post("/v1/radius", content=f'{{"k":1,"alpha":"0.7","d":9,"p":[{written}]}}', headers=JSON)
        assert response.status_code in (400, 422)
        # What is no finite double is refused before it is known to be p's.
        assert response.json().get("field") == "p" or (response.status_code == 400 and float(p) > 1)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_runners_up_may_be_one_or_one_each(client: TestClient, data: st.DataObject) -> None:
    noise = data.draw(noises(max_k=9))
    pairs = data.draw(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=5))
    body = {"k": noise.k, "alpha": str(noise.alpha), "d": 20, "p": [p for p, _ in pairs]}
    each = client.post("/v1/radius", json={**body, "p_b": [p_b for _, p_b in pairs]}).json()["radii"]
    assert each == [radius(noise, str(p), 20, str(p_b)) for p, p_b in pairs]
    one = client.post("/v1/radius", json={**body, "p_b": "1/4"}).json()["radii"]
    assert one == [radius(noise, str(p), 20, Fraction(1, 4)) for p, _ in pairs]


def test_counts_of_votes(client: TestClient) -> None:
    counts = [0, 500, 513, 900, 990, 999, 1000]
    expected = [radius_from_votes(Discrete(255, "0.2"), Votes(count, 1000, "0.01"), 784) for count in counts]
    response = client.post("/v1/radius", json={**BYTES, "count": counts, "n": 1000, "failure": "0.01"})
    assert response.json()["radii"] == expected
    radii = post_array(client, np.array(counts), **BYTES, n=1000, failure="0.01")
    assert radii.tolist() == [-1 if one is None else one for one in expected]


@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_an_array_of_doubles(client: TestClient, values: list[float]) -> None:
    radii = post_array(client, np.array(values), **BYTES)
    expected = [radius(Discrete(255, "0.2"), value, 784) for value in values]
    assert radii.tolist() == [-1 if one is None else one for one in expected]


def test_an_array_against_a_runner_up(client: TestClient) -> None:
    values = [0.4, 0.6, 0.9, 0.99]
    expected = [radius(Discrete(255, "0.2"), value, 784, "0.05") for value in values]
    assert post_array(client, np.array(values), **BYTES, p_b="0.05").tolist() == expected


def test_a_million_values_and_no_more(client: TestClient) -> None:
    values = np.random.default_rng(1).uniform(0.4, 1, 1_000_000)
    radii = post_array(client, values, **BYTES)
    some = slice(None, None, 50_001)
    expected = [radius(Discrete(255, "0.2"), value, 784) for value in values[some].tolist()]
    assert radii[some].tolist() == [-1 if one is None else one for one in expected]
    body = orjson.dumps({**BYTES, "p": values.tolist()})
    listed = client.post("/v1/radius", content=body, headers={"content-type": "application/json"})
    assert listed.json()["radii"][:1000] == [None if one < 0 else one for one in radii[:1000].tolist()]
    too_many = client.post("/v1/radius", params=BYTES, content=npy(np.ones(1_000_001)), headers=NPY)
    assert too_many.status_code == 422
    assert "1,000,000" in too_many.json()["detail"]


@pytest.mark.parametrize("order", ["<f8", ">f8"])
def test_arrays_of_either_byte_order(client: TestClient, order: str) -> None:
    assert post_array(client, np.array([0.5, 0.9], order), **BYTES).tolist() == [-1, 2]
