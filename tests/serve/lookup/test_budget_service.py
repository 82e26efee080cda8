"""What any family certifies, over HTTP: the library's answers, within limits, without changing those of before."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from ellzero.certificates import Discrete, certified, make_family, threshold
from ellzero.serve import ServeSettings, create_app

SPARSE = "family=sparse&p_add=0.01&p_del=0.6"
GRAPH = {
    "family": "joint",
    "members": {
        "edges": {"family": "sparse", "p_add": "0.01", "p_del": "0.6"},
        "tokens": {"family": "mask", "m": "0.9"},
    },
}
TWO_GRAPHS = {
    "family": "joint",
    "members": {
        "a": {"family": "sparse", "p_add": "0.01", "p_del": "0.6"},
        "b": {"family": "sparse", "p_add": "0.001", "p_del": "0.8"},
    },
}


def get(client: TestClient, query: str, status: int = 200) -> Any:
    response = client.get(query)
    assert response.status_code == status, response.text
    return response.json()


def post(client: TestClient, path: str, status: int = 200, **body: Any) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    return response.json()


@pytest.mark.parametrize(
    ("query", "description", "limits"),
    [
        ("family=discrete&k=255&alpha=0.2&limits=784", {"family": "discrete", "k": 255, "alpha": "0.2"}, 784),
        (f"{SPARSE}&limits=add:5,delete:20", GRAPH["members"]["edges"], {"add": 5, "delete": 20}),  # type: ignore[index]
        (
            "family=sparse-levels&k=5&p_add=0.01&p_del=0.6&limits=change:2,add:1,delete:4",
            {"family": "sparse-levels", "k": 5, "p_add": "0.01", "p_del": "0.6"},
            {"add": 1, "delete": 4, "change": 2},
        ),
        ("family=mask&m=0.9&limits=change:100", {"family": "mask", "m": "0.9"}, 100),
        ("family=ablation&d=784&keep=45", {"family": "ablation", "d": 784, "keep": 45}, None),
        ("family=deletion&m=9/10&limits=100", {"family": "deletion", "m": "0.9"}, 100),
    ],
)
def test_a_query_and_json_ask_for_the_same(client: TestClient, query: str, description: Any, limits: Any) -> None:
    family = make_family(description)
    answer = get(client, f"/v1/radius?{query}&p=0.99")
    expected = certified(family, "0.99", limits)
    assert answer["certified"] == (list(expected) if isinstance(expected, tuple) else expected)
    assert answer == post(client, "/v1/radius", family=description, limits=limits, p="0.99")
    assert answer["family"] == family.describe()
    source = "table" if family.name in {"discrete", "sparse"} else "computed"  # what the bundled table has
    assert (answer["source"], answer["top_k"], answer["p"]) == (source, 1, "0.99")


def test_thresholds_and_plans_too(client: TestClient) -> None:
    edges = GRAPH["members"]["edges"]  # type: ignore[index]
    rows = get(client, f"/v1/thresholds?{SPARSE}&limits=add:2,delete:3&q=1/3")
    assert rows == post(client, "/v1/thresholds", family=edges, limits={"add": 2, "delete": 3}, q="1/3")
    assert len(rows["rows"]) == 12
    assert rows["rows"][-1]["threshold"] == f"{threshold(make_family(edges), {'add': 2, 'delete': 3}, '1/3'):f}"
    plan = get(client, f"/v1/plan?{SPARSE}&budget=add:1,delete:2&p=0.99")
    assert plan == post(client, "/v1/plan", family=edges, budget={"add": 1, "delete": 2}, p="0.99")
    assert (plan["n"], plan["min_count"]) == (209, 205)


def test_where_no_p_certifies_a_budget_min_p_is_null(client: TestClient) -> None:
    rows = get(client, "/v1/thresholds?family=mask&m=0.4&limits=1")["rows"]
    assert [row["min_p"] for row in rows] == [0.5000000000000001, None]
    assert rows[1]["threshold"] == "1.00000000000000000000"


def test_abstaining_is_null_and_the_empty_budget_is_not(client: TestClient) -> None:
    assert get(client, "/v1/radius?family=mask&m=0.9&limits=9&p=0.5")["certified"] is None
    assert get(client, "/v1/radius?family=mask&m=0.9&limits=9&p=0.51")["certified"] == 0
    assert get(client, f"/v1/radius?{SPARSE}&limits=add:1&p=0.5")["certified"] is None
    assert get(client, f"/v1/radius?{SPARSE}&limits=add:1&p=0.51")["certified"] == [{"add": 0, "delete": 0}]


def test_discrete_noise_by_name_has_the_radius_that_it_has_without(client: TestClient) -> None:
    for p in ("0.5", "0.99", "0.999999", "1", "2/3"):
        by_name = get(client, f"/v1/radius?family=discrete&k=255&alpha=0.2&limits=784&p={p}")["certified"]
        assert by_name == get(client, f"/v1/radius?k=255&alpha=0.2&d=784&p={p}")["radius"]
        assert by_name == certified(Discrete(255, "0.2"), p, 784)


def test_answers_without_a_family_have_the_bytes_that_they_had(client: TestClient) -> None:
    conventions = (
        b'"conventions":{"k":"number of categories minus one","alpha":"total probability of staying",'
        b'"r":"at most r coordinates changed"}}'
    )
    assert client.get("/v1/radius?k=255&alpha=0.2&d=784&p=0.99").content == (
        b'{"radius":3,"threshold":"0.97898829668830238747","next_threshold":"0.99493645881485561183",'
        b'"margin":"0.01101170331169761253","source":"table","k":255,"alpha":"1/5","d":784,"p":"0.99","p_b":null,'
        b'"count":null,"n":null,"failure":null,"p_lower":null,"min_count":null,"next_min_count":null,' + conventions
    )
    assert client.get("/v1/thresholds?k=1&alpha=0.8&r_max=1").content == (
        b'{"rows":[{"r":0,"threshold":"0.50000000000000000000","exact":true,"min_p":0.5000000000000001},'
        b'{"r":1,"threshold":"0.87500000000000000000","exact":true,"min_p":0.8750000000000001}],"end":"cut",'
        b'"source":"table","k":1,"alpha":"4/5",' + conventions
    )
    assert client.get("/v1/plan?k=1&alpha=0.8&r=1&p=0.99").content == (
        b'{"r":1,"n":86,"min_count":84,"failure":"0.001","k":1,"alpha":"4/5","p":"0.99","power":"0.9","d":null,'
        + conventions
    )
    radii = client.post("/v1/radius", json={"k": 255, "alpha": "0.2", "d": 784, "p": ["0.99", "0.4"]})
    assert radii.content == b'{"radii":[3,null],"source":"table","k":255,"alpha":"1/5","d":784,' + conventions


@pytest.mark.parametrize(
    ("path", "body"),
    [
        # Everything is certified, at every step of a staircase without end.
        ("/v1/radius", {"family": GRAPH["members"]["edges"], "p": 1, "limits": {"add": 10**9, "delete": 10**9}}),  # type: ignore[index]
        # Integers of gigabytes, which nothing could stop on their way.
        ("/v1/radius", {"family": {"family": "mask", "m": "0.999999999999999999"}, "p": "1", "limits": 10**9}),
        ("/v1/radius", {"family": {"family": "mask", "m": "0.999999999999999999"}, "p": "0.9", "limits": 10**9}),
        (
            "/v1/radius",
            {"family": {"family": "discrete", "k": 1, "alpha": "0.500001"}, "p": "0.99999", "limits": 10**9},
        ),
        ("/v1/radius", {"family": {"family": "ablation", "d": 2**31 - 1, "keep": 46_341}, "p": "0.999999999999"}),
        ("/v1/thresholds", {"family": {"family": "ablation", "d": 2**31 - 1, "keep": 10**9}, "limits": 99_999}),
        # Too many ways to divide a budget, and too many kinds to divide it among.
        (
            "/v1/radius",
            {
                "family": {
                    "family": "grouped",
                    "members": [{"family": "mask", "m": f"0.99{kind}", "columns": 9} for kind in range(1, 60)],
                },
                "p": "0.999",
                "limits": 500,
            },
        ),
        # Many cheap answers.
        (
            "/v1/radius",
            {
                "family": {"family": "sparse", "p_add": "0.1", "p_del": "0.8"},
                "p": [f"0.999999999999{number}" for number in range(1_000, 2_000)],
                "limits": {"add": 900, "delete": 900},
            },
        ),
        ("/v1/thresholds", {"family": TWO_GRAPHS, "limits": {name: {"add": 16, "delete": 16} for name in "ab"}}),
        ("/v1/plan", {"family": {"family": "mask", "m": "0.999999999999999999"}, "budget": 10**9, "p": "0.99"}),
    ],
)
def test_what_would_take_too_long_is_refused(client: TestClient, path: str, body: Any) -> None:
    problem = post(client, path, 422, **body)
    assert problem["type"] == "urn:ellzero:problem:too-costly"
    assert problem["limit_seconds"] == 5.0


def test_limits_far_beyond_what_is_certified_cost_nothing(client: TestClient) -> None:
    far = f"/v1/radius?{SPARSE}&p=0.95&limits=add:2147483647,delete:2147483647"
    near = f"/v1/radius?{SPARSE}&p=0.95&limits=add:5,delete:20"
    assert get(client, far)["certified"] == get(client, near)["certified"]
    total = {"family": "total", "base": {"family": "sparse", "p_add": "0.01", "p_del": "0.6"}}
    assert post(client, "/v1/radius", family=total, p="0.99", limits=10**9)["certified"] == 2


def test_work_stops_at_the_deadline_of_its_request() -> None:
    """Estimates are off: they may let work through that takes long."""
    settings = ServeSettings(log_level="error", max_seconds=10_000, request_timeout=0.2)
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        slow = f"/v1/thresholds?{SPARSE}&limits=add:99,delete:99"
        assert get(client, slow, 503)["type"] == "urn:ellzero:problem:timeout"
        assert get(client, f"/v1/radius?{SPARSE}&p=0.95&limits=add:5")["certified"] == [{"add": 1, "delete": 0}]
