"""What cannot be answered is refused with a problem that says which field, which value, and what is allowed."""

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from serve.test_batch import BYTES, NPY, npy
from starlette.testclient import TestClient

GOOD = {"p": "0.99", "k": "255", "alpha": "0.2", "d": "784"}
VOTES = {"count": "90", "n": "100", "k": "255", "alpha": "0.2", "d": "784"}


def check(response: Any, status: int, field: str | None = None) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:ellzero:problem:")
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == response.headers["x-request-id"]
    if field is not None:
        assert problem["field"] == field
        assert field in problem["detail"]
    return problem


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("p", "1.5"),
        ("p", "-0.1"),
        ("p", "NaN"),
        ("p", "abc"),
        ("p", "false"),
        ("p", ""),
        ("p", "inf"),
        ("p", "0." + "9" * 500),
        ("p_b", "2"),
        ("k", "0"),
        ("k", "1000000000"),
        ("k", "255.0"),
        ("k", "9" * 400),
        ("k", "٣"),
        ("alpha", "0"),
        ("alpha", "1"),
        ("alpha", "1/0"),
        ("alpha", "0." + "1" * 60),
        ("alpha", "0.2\x00"),
        ("d", "0"),
        ("d", "-3"),
        ("d", "1e3"),
        ("d", str(2**31)),
    ],
)
def test_an_invalid_value_is_a_problem_that_names_its_field(client: TestClient, field: str, value: str) -> None:
    problem = check(client.get("/v1/radius", params={**GOOD, field: value}), 422, field)
    assert problem["allowed"]
    assert problem["value"] is not None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"count": "101"}, "count"),
        ({"count": "-1"}, "count"),
        ({"n": "0"}, "n"),
        ({"n": str(10**8 + 1)}, "n"),
        ({"failure": "0"}, "failure"),
        ({"failure": "1"}, "failure"),
        ({"p": "0.9"}, "p"),
        ({"p_b": "0.1"}, "p_b"),
    ],
)
def test_invalid_votes_are_a_problem_that_names_their_field(
    client: TestClient, changes: dict[str, str], field: str
) -> None:
    check(client.get("/v1/radius", params={**VOTES, **changes}), 422, field)


@pytest.mark.parametrize("missing", ["p", "k", "alpha", "d"])
def test_a_missing_field_is_named(client: TestClient, missing: str) -> None:
    query = {name: value for name, value in GOOD.items() if name != missing}
    check(client.get("/v1/radius", params=query), 422, missing)


@pytest.mark.parametrize("missing", ["count", "n"])
def test_count_and_n_are_required_together(client: TestClient, missing: str) -> None:
    check(client.get("/v1/radius", params={k: v for k, v in VOTES.items() if k != missing}), 422, missing)


def test_an_unknown_or_repeated_field_is_refused(client: TestClient) -> None:
    check(client.get("/v1/radius", params={**GOOD, "K": "3"}), 422, "K")
    check(client.get("/v1/radius?p=0.9&p=0.8&k=1&alpha=0.8&d=9"), 422, "p")
    check(client.get("/v1/radius?p=%ff&k=1&alpha=0.8&d=9"), 400)
    check(client.get("/v1/radius?p"), 400)
    check(client.get("/v1/radius?p=0." + "9" * 9000), 422)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"p": [0.9, False]}, "p"),
        ({"p": [0.9, None]}, "p"),
        ({"p": [[0.9]]}, "p"),
        ({"p": [0.9, "abc"]}, "p"),
        ({"p": [0.9, 1.5]}, "p"),
        ({"p": [2]}, "p"),
        ({"p": []}, "p"),
        ({"p": 0.9}, "p"),
        ({"p": {"0": 0.9}}, "p"),
        ({"k": "255"}, "k"),
        ({"k": 255.0}, "k"),
        ({"k": True}, "k"),
        ({"k": 10**9}, "k"),
        ({"alpha": False}, "alpha"),
        ({"alpha": 0}, "alpha"),
        ({"d": None}, "d"),
        ({"p_b": [0.1, 0.2, 0.3]}, "p_b"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_an_invalid_field_of_a_json_body_is_named(client: TestClient, changes: dict[str, Any], field: str) -> None:
    check(client.post("/v1/radius", json={**BYTES, "p": [0.9, 0.99], **changes}), 422, field)


@pytest.mark.parametrize("counts", [[101], [-1], [9.0], [True], ["9"]])
def test_invalid_counts_in_json_are_refused(client: TestClient, counts: list[Any]) -> None:
    problem = check(client.post("/v1/radius", json={**BYTES, "count": [5, *counts], "n": 100}), 422, "count")
    assert problem["value"] == counts[0]


@pytest.mark.parametrize("body", [b"", b"{", b"[0.9]", b"null", b'{"p": [NaN]}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_not_a_json_object_is_refused(client: TestClient, body: bytes) -> None:
    response = client.post("/v1/radius", content=body, headers={"content-type": "application/json"})
    check(response, response.status_code)
    assert response.status_code in (400, 422)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"k": 1, "alpha": "0.7", "d": 9, "p": [0.6], "p": [0.9]}', "p"),
        ('{"k": 1, "k": 1, "alpha": "0.7", "d": 9, "p": [0.9]}', "k"),
        ('{"k": 1, "alpha": 0.7, "d": 9, "p": ["0.9"], "\\u0061lpha": "0.8"}', "alpha"),
    ],
)
def test_a_key_of_a_json_body_is_given_once(client: TestClient, body: str, field: str) -> None:
    problem = check(client.post("/v1/radius", content=body, headers={"content-type": "application/json"}), 422, field)
    assert problem["detail"] == f"{field} is given more than once"


def _objects() -> bytes:
    out = BytesIO()
    np.save(out, np.array([0.9, None], dtype=object), allow_pickle=True)
    return out.getvalue()


@pytest.mark.parametrize(
    "body",
    [
        npy(np.array([0.9, np.nan])),
        npy(np.array([0.9, 1.5])),
        npy(np.array([-0.1])),
        npy(np.array([0.9], np.float32)),
        npy(np.array([1])),
        npy(np.array(["0.9"])),
        npy(np.array([0.9 + 0j])),
        npy(np.array([[0.9]])),
        npy(np.array(0.9)),
        npy(np.array([])),
        npy(np.array([0.9]))[:-1],
        npy(np.array([0.9])) + b"\0",
        npy(np.array([0.9]))[:9],
        b"",
        b"PK\x03\x04",
        _objects(),
    ],
)
def test_an_invalid_npy_body_is_refused(client: TestClient, body: bytes) -> None:
    check(client.post("/v1/radius", params=BYTES, content=body, headers=NPY), 422)


@pytest.mark.parametrize(
    "header",
    [
        "(((",
        "'''",
        "  a\n b",
        "-" * 9_000 + "1",
        "(" * 9_000,
        "{[]:1}",
        "{'descr': (), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': ('<f8',), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 7: False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0x" + "f" * 8_000 + ",)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (0x" + "f" * 8_000 + ", 2)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
    ],
    ids=range(12),
)
@pytest.mark.parametrize("version", [1, 2])
def test_an_invalid_npy_header_is_refused(client: TestClient, header: str, version: int) -> None:
    length = len(header).to_bytes(2 if version == 1 else 4, "little")
    body = b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + bytes(8)
    check(client.post("/v1/radius", params=BYTES, content=body, headers=NPY), 422, "body")


@pytest.mark.parametrize("version", [0, 3, 9])
def test_an_unsupported_npy_version_is_refused(client: TestClient, version: int) -> None:
    body = npy(np.array([0.9]))
    assert client.post("/v1/radius", params=BYTES, content=body, headers=NPY).status_code == 200
    other = body[:6] + bytes([version]) + body[7:]
    check(client.post("/v1/radius", params=BYTES, content=other, headers=NPY), 422, "body")


def test_an_npy_body_shorter_than_its_header_says_is_refused(client: TestClient) -> None:
    good = npy(np.array([0.9]))
    huge = good.replace(b"'shape': (1,), }" + b" " * 10, b"'shape': (99999999999,), }")
    assert huge != good
    check(client.post("/v1/radius", params=BYTES, content=huge, headers=NPY), 422)


def test_invalid_counts_in_an_npy_body_are_refused(client: TestClient) -> None:
    for wrong in (np.array([101]), np.array([-1]), np.array([0.9])):
        check(client.post("/v1/radius", params={**BYTES, "n": 100}, content=npy(wrong), headers=NPY), 422)


def test_unsupported_content_types_and_methods_are_refused(client: TestClient) -> None:
    check(client.post("/v1/radius", content=b"p=0.9", headers={"content-type": "text/plain"}), 415)
    check(client.post("/v1/radius", content=b"{}"), 415)
    check(client.post("/v1/radius?k=1", json={}), 422)
    check(client.put("/v1/radius"), 405)
    check(client.get("/v1/nothing"), 404)
    check(client.get("/assets/..%2fcli.py"), 404)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/thresholds?k=255&alpha=0.2&r_max=-1", "r_max"),
        ("/v1/thresholds?k=255", "alpha"),
        ("/v1/tables?x=1", "x"),
        ("/v1/plan?k=255&alpha=0.2", "r"),
        ("/v1/plan?k=255&alpha=0.2&r=1&p=0.9&n=3", "r"),
        ("/v1/plan?k=255&alpha=0.2&r=1&p=1.9", "p"),
        ("/v1/plan?k=255&alpha=0.2&r=1&p=0.9&power=1", "power"),
        ("/v1/compare?alpha=0.5&d=9&p=0.9", "alpha"),
        ("/v1/compare?alpha=0.8&d=9&p=0.9&k=2", "k"),
        ("/v1/compare?alpha=0.8&d=9&r_max=10", "r_max"),
    ],
)
def test_invalid_values_of_other_routes_are_named(client: TestClient, path: str, field: str) -> None:
    check(client.get(path), 422, field)
