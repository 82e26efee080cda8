"""Requests to look something up, as pydantic models."""

from functools import lru_cache
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from ellzero.certificates import Discrete, Votes
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.certificates.families.discrete import MAX_K
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.evidence import check_fields, read_evidence
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.serve.lookup.written_numbers import JsonNumbers
from ellzero.serve.platform.field_types import (
    JSON_BODY,
    MAX_VALUES,
    Exact,
    Failure,
    IntegerField,
    ListField,
    N,
    NumberField,
    RequestModel,
)
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import parse_json, parse_rounded_json
from ellzero.tables.lookup.queries import MOST_COMPARED

_SMALL_BODY = 65_536

K = Annotated[
    int, IntegerField(1, MAX_K), Field(description="Number of categories minus one: 255 for bytes, 1 for bits.")
]
Alpha = Annotated[
    Exact,
    NumberField(ends_included=False),
    Field(description="Total probability of staying, strictly between 0 and 1, such as 0.8 or 4/5."),
]
D = Annotated[int, IntegerField(1, MAX_DIMENSION), Field(description="Number of coordinates.")]
P = Annotated[Exact, NumberField(), Field(description="Lower bound of the probability of the top class.")]
RunnerUp = Annotated[Exact, NumberField(), Field(description="Upper bound of the probability of every other class.")]
Count = Annotated[
    int,
    IntegerField(0, MAX_VOTES),
    Field(description="Votes for the top class, which other votes chose."),
]
Power = Annotated[
    Exact,
    NumberField(ends_included=False),
    Field(description=f"Probability with which an input of this p is certified; {DEFAULT_POWER} by default."),
]
R = Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="Wanted radius.")]
RMax = Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="Last radius; up to saturation by default.")]
RCompared = Annotated[
    int, IntegerField(0, MOST_COMPARED), Field(description="Also compare the thresholds up to this radius.")
]


class NoiseRequest(RequestModel):
    """A noise."""

    k: K
    alpha: Alpha

    @property
    def noise(self) -> Discrete:
        """Return the noise."""
        return _make_noise(self.k, self.alpha)


class RadiusRequest(NoiseRequest):
    """A probability, optionally with a bound for the runner-up; or votes."""

    d: D
    p: P | None = None
    p_b: RunnerUp | None = None
    count: Count | None = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _check_evidence(self) -> Self:
        read_evidence(self.p, self.p_b, self.count, self.n, self.failure)
        return self

    @property
    def votes(self) -> Votes | None:
        """Return the votes, if the request has votes."""
        if self.count is None or self.n is None:
            return None
        return Votes(self.count, self.n, DEFAULT_FAILURE if self.failure is None else self.failure)


class RadiiRequest(NoiseRequest):
    """Many probabilities, optionally with bounds for the runners-up; or many counts, each of n votes."""

    d: D
    p: (
        Annotated[list[Exact], ListField(NumberField()), Field(description="Lower bounds of the probability.")] | None
    ) = None
    p_b: (
        Annotated[
            Exact | list[Exact],
            ListField(NumberField(), or_one=True),
            Field(description="One bound for all p, or one for each."),
        ]
        | None
    ) = None
    count: (
        Annotated[list[int], ListField(IntegerField(0, MAX_VOTES)), Field(description="Votes for the top class.")]
        | None
    ) = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _check_evidence(self) -> Self:
        read_evidence(self.p, self.p_b, self.count, self.n, self.failure)
        return self


class RadiiArrayRequest(NoiseRequest):
    """The parameters beside an array of probabilities or, with n, of counts."""

    d: D
    p_b: RunnerUp | None = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _check_evidence(self) -> Self:
        check_fields(self.n is None, self.p_b, self.n is not None, self.n, self.failure)
        return self


class ThresholdsRequest(NoiseRequest):
    """Thresholds up to a radius, or up to saturation."""

    r_max: RMax | None = None


class PlanRequest(NoiseRequest):
    """A radius and a probability, to get the number of votes; or votes and d, to get the radius."""

    r: R | None = None
    p: P | None = None
    n: N | None = None
    d: D | None = None
    failure: Failure = DEFAULT_FAILURE
    power: Power | None = None


class CompareRequest(RequestModel):
    """Bits under discrete noise, and under Gaussian noise that keeps a bit with the same probability."""

    alpha: Annotated[Exact, NumberField(ends_included=False), Field(description="Probability of staying, above 1/2.")]
    d: D
    k: Annotated[int, IntegerField(1, 1), Field(description="Must be 1: the comparison is for bits.")] = 1
    p: P | None = None
    r_max: RCompared | None = None

    @property
    def noise(self) -> Discrete:
        """Return the discrete noise."""
        return _make_noise(self.k, self.alpha)


def parse_batch(body: bytes) -> RadiiRequest:
    """Parse a JSON body. Large ones are checked before anything is built from them."""
    if len(body) > _SMALL_BODY:
        _check_large(body)
    fields = _parse_long_list(body)
    return RadiiRequest.model_validate(parse_json(body) if fields is None else fields, context=JSON_BODY)


def _parse_long_list(body: bytes) -> dict[str, Any] | None:
    """Parse a body whose only list is p, of JSON numbers; None for any other body.

    Splits the list at its commas, in a fraction of the time that an exact parser of JSON takes.
    """
    start, end = body.find(b"["), body.find(b"]") + 1
    if body.count(b"[") != 1 or end <= start:
        return None
    listed, rest = body[start:end], body[:start] + b"[]" + body[end:]
    try:
        numbers = parse_rounded_json(listed)
        if not set(map(type, numbers)) <= {float, int}:
            return None
        fields = parse_json(rest)
    except HttpProblem:  # the general parser says what is wrong
        return None
    if not isinstance(fields, dict) or fields.get("p") != []:
        return None
    texts = b"".join(listed[1:-1].split()).decode().split(",")
    return {**fields, "p": JsonNumbers(texts, np.array(numbers, np.float64)) if numbers else []}


def _check_large(body: bytes) -> None:
    """Count characters: a batch is one object of a few fields and at most two lists.

    No field name or number contains any of these characters, so counting them suffices. Deeply nested or endless JSON
    would take far more memory than its size.
    """
    most = {b"{": 1, b"[": 2, b":": len(RadiiRequest.model_fields), b",": 2 * MAX_VALUES + 10}
    for character, number in most.items():
        if body.count(character) > number:
            allowed = f"an object of the documented fields whose lists have at most {MAX_VALUES:,} numbers"
            raise HttpProblem(422, f"the body must be {allowed}", field="body", allowed=allowed)


@lru_cache(4_096)
def _make_noise(k: int, alpha: Exact) -> Discrete:
    """Return a noise. Few are used, again and again, and making one takes microseconds."""
    return Discrete(k, alpha)
