"""Wrong requests about families are refused with a sentence that names the field and what is allowed."""

from typing import Any

import pytest
from starlette.testclient import TestClient

MASK = {"family": "mask", "m": "0.9"}
SPARSE = "family=sparse&p_add=0.01&p_del=0.6"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("/v1/radius?family=nothing&p=0.9&limits=1", "family"),
        ("/v1/radius?family=joint&p=0.9&limits=1", "family"),  # goes into JSON
        ("/v1/radius?family=&p=0.9&limits=1", "family"),
        ("/v1/radius?family=mask&p=0.9&limits=1", "m"),
        ("/v1/radius?family=mask&m=1&p=0.9&limits=1", "m"),
        ("/v1/radius?family=mask&m=0&p=0.9&limits=1", "m"),
        ("/v1/radius?family=mask&m=0.5&alpha=0.5&p=0.9&limits=1", "alpha"),
        ("/v1/radius?family=mask&m=0.5&d=5&p=0.9&limits=1", "d"),
        ("/v1/radius?family=ablation&d=5&keep=6&p=0.9", "keep"),
        ("/v1/radius?family=ablation&d=5&keep=2&p=0.9&limits=6", "limits"),
        ("/v1/radius?family=mask&m=0.5&p=0.9", "limits"),
        ("/v1/radius?family=mask&m=0.5&p=0.9&limits=", "limits"),
        ("/v1/radius?family=mask&m=0.5&p=0.9&limits=-1", "limits"),
        ("/v1/radius?family=mask&m=0.5&p=0.9&limits=2147483648", "limits"),
        (f"/v1/radius?{SPARSE}&p=0.9&limits=5", "limits"),
        (f"/v1/radius?{SPARSE}&p=0.9&limits=add:5,add:6", "limits"),
        (f"/v1/radius?{SPARSE}&p=0.9&limits=add:5,change:6", "limits"),
        (f"/v1/radius?{SPARSE}&p=0.9&limits=add:2147483648", "limits.add"),
        (f"/v1/radius?{SPARSE}&p=1.5&limits=add:5", "p"),
        (f"/v1/radius?{SPARSE}&p=-0.5&limits=add:5", "p"),
        (f"/v1/radius?{SPARSE}&p=0.9&p_b=2&limits=add:5", "p_b"),
        (f"/v1/radius?{SPARSE}&limits=add:5", "p"),
        (f"/v1/radius?{SPARSE}&p=0.9&top_k=0&limits=add:5", "top_k"),
        (f"/v1/radius?{SPARSE}&p=0.9&top_k=1001&limits=add:5", "top_k"),
        (f"/v1/radius?{SPARSE}&p=0.9&r_max=3&limits=add:5", "r_max"),
        (f"/v1/radius?{SPARSE}&p=0.9&p=0.9&limits=add:5", "p"),
        (f"/v1/radius?{SPARSE}&count=9&n=8&limits=add:5", "count"),
        (f"/v1/radius?{SPARSE}&count=9&n=9&failure=1&limits=add:5", "failure"),
        (f"/v1/thresholds?{SPARSE}&limits=add:400,delete:400", "limits"),
        (f"/v1/thresholds?{SPARSE}&limits=add:4&q=1.1", "q"),
        (f"/v1/thresholds?{SPARSE}", "limits"),
        (f"/v1/plan?{SPARSE}&p=0.9", "budget"),
        (f"/v1/plan?{SPARSE}&budget=add:1", "p"),
        (f"/v1/plan?{SPARSE}&budget=add:1&p=0.9&power=1", "power"),
        (f"/v1/plan?{SPARSE}&budget=add:2147483648&p=0.9", "budget.add"),
        ("/v1/families?family=mask", "family"),
    ],
)
def test_a_wrong_query_names_its_field(client: TestClient, query: str, field: str) -> None:
    response = client.get(query)
    assert response.status_code == 422, response.text
    problem = response.json()
    assert problem["field"] == field
    assert problem["allowed"]
    assert field in problem["detail"]


NESTED: dict[str, Any] = MASK
for _ in range(40):
    NESTED = {"family": "total", "base": NESTED}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"family": "mask", "p": "0.9", "limits": 1}, "family"),
        ({"family": {}, "p": "0.9", "limits": 1}, "family"),
        ({"family": {"family": "joint", "members": {}}, "p": "0.9", "limits": {}}, "family.members"),
        ({"family": {"family": "joint", "members": {"a.b": MASK}}, "p": "0.9", "limits": {}}, "family.members"),
        ({"family": {"family": "total", "base": {"family": "mask", "m": 2}}, "p": 0.9, "limits": 1}, "family.base.m"),
        ({"family": {"family": "grouped", "members": [MASK]}, "p": 0.9, "limits": 1}, "family.members[0].columns"),
        ({"family": {"family": "grouped", "members": [{**MASK, "columns": 2**40}]}, "p": 0.9, "limits": 1}, "family"),
        ({"family": {"family": "regions", "regions": [[["1/2", "1/3"]]]}, "p": 0.9, "limits": 1}, "family.regions"),
        ({"family": {"family": "regions", "regions": [[["1", "1"]] * 4_000]}, "p": 0.9, "limits": 1}, "family"),
        ({"family": {"family": "mask", "m": "0." + "1" * 20_000}, "p": 0.9, "limits": 1}, "family"),
        ({"family": MASK, "p": "0.9", "limits": [1]}, "limits"),
        ({"family": MASK, "p": "0.9", "limits": "1"}, "limits"),
        ({"family": MASK, "p": "0.9", "limits": True}, "limits"),
        ({"family": MASK, "p": "0.9", "limits": {"change": "1"}}, "limits"),
        ({"family": MASK, "p": "0.9", "limits": 1, "top_k": "1"}, "top_k"),
        ({"family": MASK, "p": "0.9", "limits": 1, "k": 3}, "k"),
        ({"family": MASK, "p": [0.9] * 1_001, "limits": 1}, "p"),
        ({"family": MASK, "p": [0.9, 1.1], "limits": 1}, "p"),
        ({"family": MASK, "p": [0.9, 0.8], "p_b": [0.1], "limits": 1}, "p_b"),
        ({"family": MASK, "count": [5, 11], "n": 10, "limits": 1}, "count"),
        ({"family": MASK, "count": [-1], "n": 10, "limits": 1}, "count"),
    ],
)
def test_a_wrong_body_names_its_field(client: TestClient, body: Any, field: str) -> None:
    response = client.post("/v1/radius", json=body)
    assert response.status_code == 422, response.text
    assert response.json()["field"] == field
    assert response.json()["allowed"]


def test_bodies_that_are_too_deep_or_too_long_are_refused(client: TestClient) -> None:
    assert "nested less deeply" in client.post("/v1/radius", json={"family": NESTED, "p": 1, "limits": 1}).text
    json = {"content-type": "application/json"}
    deep = b'{"family": ' + b'{"base": ' * 900 + b"1" + b"}" * 901
    assert client.post("/v1/radius", content=deep, headers=json).status_code in (400, 422)
    long = b'{"family": {"family": "mask"}, "p": [' + b"0.5," * 300_000 + b"1]}"
    assert client.post("/v1/radius", content=long, headers=json).json()["field"] == "body"


def test_only_json_describes_families_in_bodies(client: TestClient) -> None:
    for path in ("/v1/thresholds", "/v1/plan"):
        assert client.post(path, content=b"x", headers={"content-type": "text/plain"}).status_code == 415
        assert client.post(f"{path}?q=1", json={"family": MASK}).json()["field"] == "query"
