"""Questions to a service's models, and the jobs that long ones become. Nothing here sends or waits."""

import json
from collections.abc import Callable
from typing import Any

import httpx2

from ellzero.client._arrays import write_array
from ellzero.client._numbers import shortest_text, whole
from ellzero.client._requests import JSON, NPY, Request, get
from ellzero.client._responses import bad_reply, read
from ellzero.client.errors import JobEnded, UnsendableValue
from ellzero.core.evidence import is_array
from ellzero.core.schemas import CertifyAnswer, JobAnswer, PredictAnswer

ProgressCallback = Callable[[JobAnswer], None]
"""Called with every state of a job."""

# The service waits so long for the end of votes before it answers that they go on.
FIRST_SECONDS = 2
POLL_SECONDS = 15
WATCHED_POLL_SECONDS = 1
PAUSE_SECONDS = 0.25  # between questions of a client that cannot wait so long
_NUMBERS = ("alpha", "failure")


def vote(path: str, model: str, x: Any, wait: int, **options: Any) -> Request:
    """A request for votes: arrays travel as ``.npy`` with the rest in the query, lists in JSON with the rest."""
    if not isinstance(model, str):
        raise UnsendableValue("model", "the name of a model", model)
    fields: dict[str, Any] = {"model": model, **_written(options), "wait": wait}
    array = _array(x)
    if array is None:
        content = _json({**fields, "x": x})
        return Request("POST", path, {}, {"accept": JSON, "content-type": JSON}, content)
    params = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in fields.items()}
    return Request("POST", path, params, {"accept": JSON, "content-type": NPY}, write_array(array))


def find(job: str, wait: int) -> Request:
    """A request for a job, which is answered when it is over or after ``wait`` seconds."""
    return get(f"/v1/jobs/{_checked(job)}", wait=wait)


def cancel(job: str) -> Request:
    """A request to end a job."""
    return Request("DELETE", f"/v1/jobs/{_checked(job)}", {}, {"accept": JSON})


def read_vote(response: httpx2.Response, kind: type[CertifyAnswer] | type[PredictAnswer]) -> Any:
    """The answer of a request for votes, or the job that it has become."""
    return read(response, JobAnswer if response.status_code == 202 else kind)


def result_of(job: JobAnswer) -> CertifyAnswer | PredictAnswer | None:
    """The result of a job; None while it goes on. ``JobEnded`` if there will be none."""
    if job.state in ("waiting", "running"):
        return None
    found = job.certificate or job.prediction
    if job.state == "done" and found is not None:
        return found
    raise JobEnded(job.id, job.state, job.reason or "no reason given")


def read_job(response: httpx2.Response) -> JobAnswer:
    """A job as the service described it."""
    job = read(response, JobAnswer)
    if job.state == "done" and job.certificate is None and job.prediction is None:
        raise bad_reply(response, "a job that is done and has no result")
    return job


def _written(options: dict[str, Any]) -> dict[str, Any]:
    return {name: _written_value(name, value) for name, value in options.items() if value is not None}


def _written_value(name: str, value: Any) -> Any:
    if name in _NUMBERS:
        return shortest_text(value, name)
    return value if isinstance(value, bool | str) else whole(value, name)


def _array(x: Any) -> Any:
    """A numpy array of numbers in C order, also of a torch tensor; None for lists."""
    if not is_array(x) and hasattr(x, "detach"):
        x = x.detach().cpu().numpy()
    if not is_array(x):
        return None
    import numpy as np

    if x.dtype.kind not in "biuf" or not x.size:
        raise UnsendableValue("x", "an array of numbers that is not empty", f"an array of {x.dtype}, shape {x.shape}")
    return np.ascontiguousarray(x)


def _json(fields: dict[str, Any]) -> bytes:
    try:
        return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError):
        raise UnsendableValue("x", "an array, or nested lists of numbers", fields["x"]) from None


def _checked(job: str) -> str:
    if not isinstance(job, str) or not job.isalnum() or not job.isascii():
        raise UnsendableValue("job", "the id of a job", job)
    return job
