"""What may be asked: the fields of each request."""

import re
from functools import lru_cache
from typing import Annotated, Any, NamedTuple, Self, TypeAlias, TypeVar
from urllib.parse import parse_qsl

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ellzero.certificates import Noise, Votes
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.certificates.noise import MAX_K
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import check_fields, read_evidence
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.serve.platform.field_types import (
    MOST_CHARACTERS,
    MOST_VALUES,
    QUERY,
    ChoiceField,
    FlagField,
    IntegerField,
    ListField,
    NumberField,
    TextField,
)
from ellzero.serve.platform.problems import HttpProblem
from ellzero.tables.lookup.queries import MOST_COMPARED

Exact: TypeAlias = str | float | int
M = TypeVar("M", bound=BaseModel)
V = TypeVar("V", bound="VotingRequest")

_MOST_QUERY_BYTES = 8_192
_SMALL_BODY = 65_536
MODEL_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
MOST_SEED = 2**53 - 1  # what every JSON reader keeps
MOST_WAIT = 20
_MOST_LISTS, _MOST_NUMBERS = 100_000, 2_000_000
_P_IN_DIGITS = re.compile(rf"(?:^|&)p=([0-9./]{{1,{MOST_CHARACTERS}}})(?=&|$)".encode())

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
    int, IntegerField(0, MAX_VOTES), Field(description="Votes for the top class, which other votes chose.")
]
N = Annotated[int, IntegerField(1, MAX_VOTES), Field(description="Votes in all.")]
Failure = Annotated[
    Exact,
    NumberField(ends_included=False),
    Field(description=f"Probability of a false certificate; {DEFAULT_FAILURE} by default."),
]
Power = Annotated[
    Exact,
    NumberField(ends_included=False),
    Field(description=f"Probability with which such an input is certified; {DEFAULT_POWER} by default."),
]
R = Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="Wanted radius.")]
RMax = Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="Last radius; without it up to saturation.")]
RCompared = Annotated[
    int, IntegerField(0, MOST_COMPARED), Field(description="Compare the thresholds up to this radius too.")
]


class NoiseRequest(BaseModel):
    """A noise, and what is asked of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: K
    alpha: Alpha

    @property
    def noise(self) -> Noise:
        """The noise, exact."""
        return _noise(self.k, self.alpha)


class RadiusRequest(NoiseRequest):
    """A probability, with a runner-up perhaps, or votes."""

    d: D
    p: P | None = None
    p_b: RunnerUp | None = None
    count: Count | None = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        read_evidence(self.p, self.p_b, self.count, self.n, self.failure)
        return self

    @property
    def votes(self) -> Votes | None:
        """The votes, if they are what was given."""
        if self.count is None or self.n is None:
            return None
        return Votes(self.count, self.n, DEFAULT_FAILURE if self.failure is None else self.failure)


class RadiiRequest(NoiseRequest):
    """ListField probabilities, with runners-up perhaps, or many counts of n votes each."""

    d: D
    p: (
        Annotated[list[Exact], ListField(NumberField()), Field(description="Lower bounds of the probability.")] | None
    ) = None
    p_b: (
        Annotated[
            Exact | list[Exact], ListField(NumberField(), or_one=True), Field(description="One for all, or one each.")
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
    def _is_one_question(self) -> Self:
        read_evidence(self.p, self.p_b, self.count, self.n, self.failure)
        return self


class RadiiArrayRequest(NoiseRequest):
    """What goes with an array of probabilities, or with n of counts."""

    d: D
    p_b: RunnerUp | None = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _is_one_question(self) -> Self:
        check_fields(self.n is None, self.p_b, self.n is not None, self.n, self.failure)
        return self


class ThresholdsRequest(NoiseRequest):
    """A column, up to a radius or up to saturation."""

    r_max: RMax | None = None


class PlanRequest(NoiseRequest):
    """A radius and a probability, to be told the votes; or votes and d, to be told the radius."""

    r: R | None = None
    p: P | None = None
    n: N | None = None
    d: D | None = None
    failure: Failure = DEFAULT_FAILURE
    power: Power | None = None


class CompareRequest(BaseModel):
    """Bits under discrete noise, and under Gaussian noise that keeps them as often."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: Annotated[Exact, NumberField(ends_included=False), Field(description="Probability of staying, above 1/2.")]
    d: D
    k: Annotated[int, IntegerField(1, 1), Field(description="1: the comparison is one of bits.")] = 1
    p: P | None = None
    r_max: RCompared | None = None

    @property
    def noise(self) -> Noise:
        """The discrete noise, exact."""
        return _noise(self.k, self.alpha)


class VotingRequest(BaseModel):
    """A model, an input or several, and how many votes. The input is in the body, in JSON as ``x``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[
        str, TextField(MODEL_NAME, "a name that /v1/models lists"), Field(description="A name of /v1/models.")
    ]
    n: N
    failure: Failure = DEFAULT_FAILURE
    alpha: (
        Annotated[
            Exact,
            NumberField(ends_included=False),
            Field(description="Total probability of staying; as the model was trained by default."),
        ]
        | None
    ) = None
    seed: (
        Annotated[
            int,
            IntegerField(0, MOST_SEED),
            Field(description="The same seed gives the same votes; a new one by default."),
        ]
        | None
    ) = None
    wait: Annotated[
        int, IntegerField(0, MOST_WAIT), Field(description="Seconds to wait for the result before 202.")
    ] = 2


class ExamplesRequest(BaseModel):
    """Inputs to try a model on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[
        str, TextField(MODEL_NAME, "a name that /v1/models lists"), Field(description="A name of /v1/models.")
    ]


class NoisyRequest(ExamplesRequest):
    """An example, and the noise to see it under."""

    example: Annotated[int, IntegerField(0, MAX_DIMENSION), Field(description="An index of /v1/examples.")]
    alpha: (
        Annotated[Exact, NumberField(ends_included=False), Field(description="As the model was trained by default.")]
        | None
    ) = None
    seed: Annotated[int, IntegerField(0, MOST_SEED), Field(description="Another seed, other noise.")] = 0


class PredictRequest(VotingRequest):
    """The most probable class under noise."""


class CertifyRequest(VotingRequest):
    """A class and the radius in which it stays."""

    n0: Annotated[int, IntegerField(1, MAX_VOTES), Field(description="Votes that select the class.")] = 100
    runner_up: Annotated[bool, FlagField(), Field(description="Bound all other classes too.")] = False
    stopping: Annotated[
        str,
        ChoiceField(("settled", "anytime", "never")),
        Field(description="When to stop before all n votes are drawn."),
    ] = "settled"


class JobRequest(BaseModel):
    """How long to wait for a change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wait: Annotated[
        int, IntegerField(0, MOST_WAIT), Field(description="Answer as soon as it is over, or after seconds.")
    ] = 0


class NoParameters(BaseModel):
    """What the table has: nothing else is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def asked(model: type[M], query: bytes) -> M:
    """The question in a query string; a field that comes twice or that nobody knows is an error."""
    if len(query) > _MOST_QUERY_BYTES:
        raise HttpProblem(422, f"the query is longer than {_MOST_QUERY_BYTES} bytes", field="query", allowed="shorter")
    try:
        pairs = _pairs(query.decode("ascii"))
    except ValueError:
        raise HttpProblem(400, "the query is not made of name=value pairs in UTF-8") from None
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)[:80]
        raise HttpProblem(422, f"{twice} is given more than once", field=twice, allowed="given once")
    return model.model_validate(fields, context=QUERY)


class PlainRadiusRequest(NamedTuple):
    """The radius of p alone: what is asked most."""

    noise: Noise
    d: int
    p: str


def plainly_asked(query: bytes) -> PlainRadiusRequest | None:
    """The question in a query that has k, alpha, d and a p in digits, and nothing else; None for any other query.

    The same that `asked` reads, or None, in a fraction of the time: noises come again and again, so only p is new.
    """
    written = _P_IN_DIGITS.search(query)
    if written is None:
        return None
    common = _noise_and_d(query[: written.start()] + query[written.end() :])
    return None if common is None else PlainRadiusRequest(*common, written[1].decode())


@lru_cache(4_096)
def _noise_and_d(query: bytes) -> tuple[Noise, int] | None:
    """What a query without its p has; None if that is more, or less, or wrong."""
    try:
        question = asked(RadiusRequest, query + b"&p=1")
        return (question.noise, question.d) if question.p_b is None else None
    except (InvalidInput, HttpProblem, ValidationError):
        return None


def batch(body: bytes) -> RadiiRequest:
    """The question in a JSON body. Large ones are looked at before anything is built from them."""
    if len(body) > _SMALL_BODY:
        _check_large(body)
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None
    return RadiiRequest.model_validate(fields)


def vote(model: type[V], body: bytes) -> tuple[V, Any]:
    """The question in a JSON body, and its ``x`` as lists of numbers, looked at before anything is built from them."""
    if body.count(b"[") > _MOST_LISTS or body.count(b",") > _MOST_NUMBERS:
        allowed = f"an array of at most {_MOST_NUMBERS:,} numbers; larger ones as .npy"
        raise HttpProblem(422, f"x must be {allowed}", field="x", allowed=allowed)
    try:
        fields = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise HttpProblem(400, f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise HttpProblem(422, "the body must be a JSON object", field="body", allowed="an object")
    if "x" not in fields:
        raise HttpProblem(422, "x is missing", field="x", value=None, allowed="given")
    x = fields.pop("x")
    if not isinstance(x, list):
        raise InvalidInput("x", "an array of numbers", x)
    return model.model_validate(fields), x


def _check_large(body: bytes) -> None:
    """A question is one object with a few fields and at most two lists. No field or number has any of these characters
    in its text, so that counting them is enough: what nests or goes on for ever would take memory far beyond its size.
    """
    most = {b"{": 1, b"[": 2, b":": len(RadiiRequest.model_fields), b",": 2 * MOST_VALUES + 10}
    for character, number in most.items():
        if body.count(character) > number:
            allowed = f"an object of known fields whose lists have at most {MOST_VALUES:,} numbers"
            raise HttpProblem(422, f"the body must be {allowed}", field="body", allowed=allowed)


def _pairs(query: str) -> list[tuple[str, str]]:
    """Names and values; what needs no unquoting, as numbers do not, is split at once."""
    if "%" in query or "+" in query:
        return parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    parts = [part.partition("=") for part in query.split("&") if part]
    if not all(equals for _, equals, _ in parts):
        raise ValueError(query)
    return [(name, value) for name, _, value in parts]


@lru_cache(4_096)
def _noise(k: int, alpha: Exact) -> Noise:
    """Noises are few and asked often; making one takes microseconds."""
    return Noise(k, alpha)
