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
from ellzero.serve.platform.field_types import MODEL_NAME
from ellzero.serve.results.request_models import RESULTS_NAME

EXAMPLES = int(os.environ.get("ELLZERO_FUZZ_EXAMPLES", "40"))
CHECKS = [
    not_a_server_error,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


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
    return _name_the_model(query)


@schemathesis.hook
def map_body(context: schemathesis.HookContext, body: Any) -> Any:
    """And half of their inputs fit it."""
    if isinstance(body, dict) and isinstance(body.get("x"), list) and len(body["x"]) % 2:
        body["x"] = [[[1, 2, 3, 0]] * 4] * (1 if len(body["x"]) == 1 else 3)
    named = _name_the_model(body)
    if isinstance(named, dict) and named.get("model") == "constant" and isinstance(named.get("x"), list):
        named["x"] = [1, 0, 1]
    return named


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
