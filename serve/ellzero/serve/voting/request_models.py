"""Requests to models, as pydantic models."""

from typing import Annotated, Any, TypeVar

from pydantic import Field

from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N0
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.serve.platform.field_types import (
    JSON_BODY,
    MODEL_NAME,
    ChoiceField,
    Exact,
    Failure,
    FlagField,
    IntegerField,
    NumberField,
    RequestModel,
    TextField,
)
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import parse_json, parse_rounded_json

V = TypeVar("V", bound="VotingRequest")

MAX_SEED = 2**53 - 1  # what every JSON reader keeps
MAX_WAIT = 20
_MAX_LISTS, _MAX_NUMBERS = 100_000, 2_000_000


class VotingRequest(RequestModel):
    """A model and a number of votes. The input, or several stacked, is in the body: `.npy`, or ``x`` in JSON.

    Answers of trees and forests are exact: of the other fields only ``alpha`` is looked at, which must be the model's.
    """

    model: Annotated[
        str,
        TextField(MODEL_NAME, "a name that /v1/models lists"),
        Field(description="A name that /v1/models lists."),
    ]
    n: (
        Annotated[
            int,
            IntegerField(1, MAX_VOTES),
            Field(description="Total number of votes. Networks need it; trees and forests have no votes."),
        ]
        | None
    ) = None
    failure: Failure = DEFAULT_FAILURE
    alpha: (
        Annotated[
            Exact,
            NumberField(ends_included=False),
            Field(description="Total probability of staying; by default as in training."),
        ]
        | None
    ) = None
    seed: (
        Annotated[
            int,
            IntegerField(0, MAX_SEED),
            Field(description="The same seed gives the same votes; random by default."),
        ]
        | None
    ) = None
    wait: Annotated[
        int, IntegerField(0, MAX_WAIT), Field(description="Seconds to wait for the result before answering 202.")
    ] = 2

    @property
    def votes(self) -> int:
        """Return n; 422 if the request has none."""
        if self.n is None:
            raise HttpProblem(422, "n is missing", field="n", value=None, allowed="given")
        return self.n


class ExamplesRequest(RequestModel):
    """Inputs to try a model on."""

    model: Annotated[
        str,
        TextField(MODEL_NAME, "a name that /v1/models lists"),
        Field(description="A name that /v1/models lists."),
    ]


class NoisyRequest(ExamplesRequest):
    """An example, and the noise to add."""

    example: Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="Index of an example, see /v1/examples.")]
    alpha: (
        Annotated[
            Exact,
            NumberField(ends_included=False),
            Field(description="Total probability of staying; by default as in training."),
        ]
        | None
    ) = None
    seed: Annotated[int, IntegerField(0, MAX_SEED), Field(description="Seed of the noise.")] = 0


class PredictRequest(VotingRequest):
    """The most probable class under noise."""


class CertifyRequest(VotingRequest):
    """A class and its certified radius."""

    n0: Annotated[int, IntegerField(1, MAX_VOTES), Field(description="Votes that choose the class.")] = DEFAULT_N0
    runner_up: Annotated[bool, FlagField(), Field(description="Also bound all other classes.")] = False
    stopping: Annotated[
        str,
        ChoiceField(("settled", "staged", "hasty", "anytime", "never")),
        Field(description="When to stop before all n votes are drawn."),
    ] = "settled"
    certificate: Annotated[
        bool, FlagField(), Field(description="Also answer with the document of each certificate, which others verify.")
    ] = False


class JobRequest(RequestModel):
    """A job, and how long to wait until it has ended."""

    wait: Annotated[int, IntegerField(0, MAX_WAIT), Field(description="Seconds to wait until the job has ended.")] = 0


def parse_voting_body(model: type[V], body: bytes) -> tuple[V, list[Any]]:
    """Parse a JSON body into the request and its ``x``, nested lists of numbers. Checked before anything is built."""
    if body.count(b"[") > _MAX_LISTS or body.count(b",") > _MAX_NUMBERS:
        allowed = f"an array of at most {_MAX_NUMBERS:,} numbers; send larger ones as .npy"
        raise HttpProblem(422, f"x must be {allowed}", field="x", allowed=allowed)
    fields = parse_rounded_json(body)
    if not isinstance(fields, dict):
        raise HttpProblem(422, "the body must be a JSON object", field="body", allowed="an object")
    if "x" not in fields:
        raise HttpProblem(422, "x is missing", field="x", value=None, allowed="given")
    x = fields.pop("x")  # levels, of which doubles are as good as decimals
    if float in map(type, fields.values()) or body.count(b":") > len(fields) + 1:  # a key twice has two colons
        fields = parse_json(body)
        del fields["x"]
    if not isinstance(x, list):
        raise InvalidInput("x", "an array of numbers", x)
    return model.model_validate(fields, context=JSON_BODY), x
