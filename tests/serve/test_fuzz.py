"""Any request is answered as the OpenAPI description says, and never by a failure.

`make fuzz` sends a thousand requests to each operation; here they are fewer.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, settings, strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serve.results_folders import certified, write_images, write_results
from serve.running import Running, running
from serve.test_batch import NPY, npy
from serve.tree_models import add_trees
from serve.voting_models import add_model

from ellzero.serve import ServeSettings, create_app
from ellzero.serve.lookup.family_requests import LimitsField
from ellzero.serve.platform.field_types import MODEL_NAME
from ellzero.serve.results.request_models import RESULTS_NAME
from ellzero.tables.lookup.family_catalogue import answer_families

EXAMPLES = int(os.environ.get("ELLZERO_FUZZ_EXAMPLES", "40"))
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


FAMILY_INFOS = answer_families().families
SIMPLE = sum(not info.composed for info in FAMILY_INFOS)


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    """Bytes that are a `.npy` file of the right kind, of another kind, with a strange header, or none."""
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.binary(max_size=300))
    if kind == 1:
        header = draw(st.text("{}()[]'\":,<>f8-+_ \\n0xdescrshapetuoFalse", max_size=80)).encode()
        return b"\x93NUMPY" + bytes([draw(st.integers(1, 9)), 0]) + len(header).to_bytes(2, "little") + header
    dtype: Any = draw(st.sampled_from([np.float64, np.float64, np.int64, np.float32, np.bool_, np.dtype("U3")]))
    values = draw(st.lists(st.one_of(st.floats(0, 1), st.floats(), st.integers(-9, 10**9)), max_size=9))
    with np.errstate(all="ignore"):
        data = npy(np.array(values).astype(dtype, casting="unsafe"))
    return data[: draw(st.integers(0, len(data)))] if draw(st.integers(0, 9)) == 0 else data


@schemathesis.serializer(NPY["content-type"])
def as_it_is(context: schemathesis.SerializationContext, value: object) -> bytes:
    """The bytes of a body."""
    return value if isinstance(value, bytes) else str(value).encode()


schemathesis.openapi.format("binary", arrays())


@schemathesis.hook
def map_query(context: schemathesis.HookContext, query: Any) -> Any:
    """Most requests to models or results name one that exists, a network or a tree, or the one run."""
    name = query.get("name") if isinstance(query, dict) else None
    if isinstance(name, str) and len(name) % 4 and re.fullmatch(RESULTS_NAME, name, re.ASCII):
        query["name"] = "run"
        if type(query.get("index")) is int and query["index"] >= 0:
            query["index"] %= 5  # of three inputs
    if isinstance(query, dict) and re.fullmatch(LimitsField().pattern, str(query.get("limits")), re.ASCII):
        length = len(query["limits"])
        info = FAMILY_INFOS[length % SIMPLE]
        kept = {name: value for name, value in query.items() if not _is_a_parameter(name, value)}
        limits = ",".join(f"{kind.name}:{length}" for kind in info.kinds)
        query = {**{name: str(value) for name, value in info.example.items()}, **kept, "limits": limits}
    return _name_the_model(query)


@schemathesis.hook
def map_body(context: schemathesis.HookContext, body: Any) -> Any:
    """And half of their inputs fit it; most families have their parameters, and budgets that fit them."""
    if isinstance(body, dict) and isinstance(body.get("x"), list) and len(body["x"]) % 2:
        body["x"] = [[[1, 2, 3, 0]] * 4] * (1 if len(body["x"]) == 1 else 3)
    if isinstance(body, dict) and isinstance(body.get("family"), dict):
        name = body["family"].get("family")
        example = next((info for info in FAMILY_INFOS if info.name == name), None)
        if example is not None and len(body["family"]) % 3:
            body["family"] = {**example.example, **body["family"]} if len(body) % 2 else example.example
            budget = "budget" if "budget" in body else "limits"
            if isinstance(body.get(budget), dict):
                body[budget] = example.limits
    named = _name_the_model(body)
    if isinstance(named, dict) and named.get("model") == "constant" and isinstance(named.get("x"), list):
        named["x"] = [1, 0, 1]
    return named


def _is_a_parameter(name: str, value: object) -> bool:
    """Whether a field is a parameter of a family, or its name, and allowed as such."""
    text = str(value)
    if name == "family":
        return text in [info.name for info in FAMILY_INFOS[:SIMPLE]]
    if name in ("k", "keep", "d"):
        return re.fullmatch("[1-9][0-9]{0,7}", text, re.ASCII) is not None
    number = re.fullmatch(r"0?[.]([0-9]*)", text, re.ASCII)
    return name in ("alpha", "p_add", "p_del", "m") and number is not None and number[1].strip("0") != ""


def _name_the_model(fields: Any) -> Any:
    name = fields.get("model") if isinstance(fields, dict) else None
    if isinstance(name, str) and len(name) % 4 and re.fullmatch(MODEL_NAME, name, re.ASCII):
        fields["model"] = "small" if len(name) % 2 else "constant"  # names that are wrong on purpose stay wrong
    return fields


schema = schemathesis.openapi.from_dict(create_app(ServeSettings()).openapi())


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A real service that refuses long work soon; what it has answered is counted at the end."""
    folder = tmp_path_factory.mktemp("fuzz")
    add_model(folder)
    add_trees(folder)
    rows = [(0, certified(0, 1)), (1, certified(2, None)), (2, certified(2, 0))]
    write_results(folder / "results" / "run", rows, source=write_images(folder / "images.npz", 3))
    settings = {
        "max_seconds": 0.5,
        "log_level": "warning",
        "models": folder,
        "results": folder / "results",
        "jobs": folder / "jobs",
        "max_votes": 3_000,
    }
    with running(folder / "log", settings=settings) as service:
        yield service
        failed = [line for line in service.log.read_text().splitlines() if '"status":5' in line]
        assert not failed


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_described(case: "schemathesis.Case[Any]", fuzzed: Running) -> None:
    case.call_and_validate(base_url=fuzzed.url, checks=CHECKS)
