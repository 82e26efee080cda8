"""Errors are one line, and can be pickled."""

import pickle

import pytest

from ellzero.client import (
    BadReply,
    ClientError,
    NotAuthorised,
    Overloaded,
    Problem,
    ProblemReply,
    RejectedInput,
    RequestTimeout,
    ServerFault,
    ServerUnreachable,
    TooCostly,
    UnsendableValue,
)

PROBLEM = Problem(
    type="urn:ellzero:problem:invalid-input",
    title="Invalid value",
    status=422,
    detail="p must be less",
    instance="/v1/radius",
    request_id="abc",
    field="p",
    value=2,
    allowed="less",
    limit_seconds=1.0,
)


@pytest.mark.parametrize(
    "error",
    [
        UnsendableValue("p", "a number", "x\ny"),
        ServerUnreachable("http://host", "refused"),
        RequestTimeout("http://host", 1.5),
        BadReply("http://host", "no JSON"),
        *(
            kind(PROBLEM, 2.0)
            for kind in (ProblemReply, RejectedInput, TooCostly, NotAuthorised, Overloaded, ServerFault)
        ),
    ],
)
def test_errors_are_one_line_and_survive_pickling(error: ClientError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert "\n" not in str(error)
    assert isinstance(error, ClientError)
