"""Requests to the results of runs, as pydantic models."""

from typing import Annotated

from pydantic import Field

from ellzero.serve.platform.field_types import ChoiceField, IntegerField, RequestModel, TextField
from ellzero.serve.results.certified_run import ORDERS

MOST_ROWS = 200
_MOST_INDEX = 999_999_999  # that the name of a results file has room for
RESULTS_NAME = r"[^\x00-\x1f]+"


class ReportRequest(RequestModel):
    """A run."""

    name: Annotated[
        str,
        TextField(RESULTS_NAME, "a name that /v1/results lists"),
        Field(description="A name that /v1/results lists."),
    ]


class CertifiedInputsRequest(ReportRequest):
    """Some of a run's inputs."""

    offset: Annotated[int, IntegerField(0, _MOST_INDEX), Field(description="How many inputs to skip.")] = 0
    limit: Annotated[int, IntegerField(1, MOST_ROWS), Field(description="Most inputs to list.")] = 50
    sort: Annotated[
        str,
        ChoiceField((*ORDERS, *(f"-{name}" for name in ORDERS))),
        Field(description="What to sort by; a minus sorts from the largest to the smallest."),
    ] = "index"


class InputRequest(ReportRequest):
    """One of a run's inputs."""

    index: Annotated[int, IntegerField(0, _MOST_INDEX), Field(description="Index of the input in its data set.")]
