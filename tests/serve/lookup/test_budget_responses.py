"""Thresholds of budgets say the same in JSON, CSV and Arrow."""

import csv
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from starlette.testclient import TestClient

from ellzero.certificates import make_family

ODD = {
    "family": "joint",
    "members": {'an "odd" näme': {"family": "mask", "m": "0.6"}, "b": {"family": "mask", "m": "0.9"}},
}


@pytest.mark.parametrize(
    ("family", "limits"),
    [
        ({"family": "sparse", "p_add": "0.01", "p_del": "0.6"}, {"add": 3, "delete": 4}),
        ({"family": "mask", "m": "0.4"}, 2),
        (ODD, {'an "odd" näme': 2, "b": 1}),
    ],
)
def test_all_formats_have_the_same_rows(client: TestClient, family: Any, limits: Any) -> None:
    axes = make_family(family).axes

    def ask(accept: str) -> Any:
        body = {"family": family, "limits": limits, "q": "0.7"}
        response = client.post("/v1/thresholds", json=body, headers={"accept": accept})
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith(accept)
        return response

    def flat(budget: Any) -> list[int]:
        return [budget] if isinstance(budget, int) else [budget[axis] for axis in axes]

    answer = ask("application/json").json()
    expected = [[*flat(row["budget"]), Decimal(row["threshold"]), row["exact"], row["min_p"]] for row in answer["rows"]]
    header, *lines = csv.reader(ask("text/csv").text.splitlines())
    assert header == [*axes, "threshold", "exact", "min_p"]
    assert [
        [*map(int, line[: len(axes)]), Decimal(line[-3]), line[-2] == "true", float(line[-1]) if line[-1] else None]
        for line in lines
    ] == expected
    response = ask("application/vnd.apache.arrow.stream")
    table = pa.ipc.open_stream(response.content).read_all()
    assert table.column_names == header
    assert [list(row.values()) for row in table.to_pylist()] == expected
    assert json.loads(table.schema.metadata[b"family"]) == answer["family"]
    assert table.schema.metadata[b"q"] == b"7/10"
    assert response.headers["ellzero-source"] == answer["source"]
    assert "budget" in response.headers["ellzero-conventions"]


def test_what_none_accepts_is_406(client: TestClient) -> None:
    query = "/v1/thresholds?family=mask&m=0.4&limits=2"
    assert client.get(query, headers={"accept": "image/png"}).status_code == 406
