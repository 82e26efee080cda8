"""Requests about budgets of any family of noises, as pydantic models: in a query, or in a JSON body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from pydantic import Field, ValidationInfo, model_validator
from pydantic.json_schema import JsonSchemaValue

from ellzero.certificates import Family, make_family
from ellzero.certificates.certified_budgets import MAX_TOP_K
from ellzero.certificates.families.registry import FAMILIES
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import Evidence, read_evidence
from ellzero.core.numbers import MAX_DIMENSION
from ellzero.serve.lookup.request_models import Alpha, Count, D, K, P, Power, RunnerUp
from ellzero.serve.platform.field_types import (
    JSON_BODY,
    ChoiceField,
    Exact,
    Failure,
    IntegerField,
    ListField,
    N,
    NumberField,
    RequestModel,
    TextField,
)
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import parse_json
from ellzero.tables.lookup.family_catalogue import answer_families

SIMPLE: Final = tuple(info.name for info in answer_families().families if not info.composed)
"""The families whose parameters fit into a query."""
MOST_LISTED = 1_000
_MOST_FAMILY_CHARACTERS = 16_384
_MOST_BYTES = 2**20
_LIMITS = re.compile(r"[0-9]{1,10}|[a-z]{1,20}:[0-9]{1,10}(,[a-z]{1,20}:[0-9]{1,10})*", re.ASCII)
_LIMITS_ALLOWED = "a number, or numbers by kind of change such as add:5,delete:20"


@dataclass(frozen=True)
class LimitsField(TextField):
    """A budget as text: ``20``, or ``add:5,delete:20``."""

    pattern: str = _LIMITS.pattern
    allowed: str = _LIMITS_ALLOWED

    def read(self, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        if not isinstance(value, str) or not _LIMITS.fullmatch(value):
            raise InvalidInput(name, self.allowed, value)
        if value.isdigit():
            return int(value)
        budget: dict[str, int] = {}
        for entry in value.split(","):
            kind, _, count = entry.partition(":")
            if kind in budget:
                raise InvalidInput(name, f"{self.allowed}, each once", value)
            budget[kind] = int(count)
        return budget

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^({self.pattern})$"}


@dataclass(frozen=True)
class BudgetField(TextField):
    """A budget in JSON: a number, or a mapping by kind of change, nested for joint families."""

    pattern: str = ""
    allowed: str = "an integer of at least 0, or an object of them by kind of change"

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if type(value) is int or isinstance(value, dict):
            return value  # the family reads it
        raise InvalidInput(str(info.field_name), self.allowed, value)

    def schema(self) -> JsonSchemaValue:
        return {"anyOf": [{"type": "integer", "minimum": 0, "maximum": MAX_DIMENSION}, {"type": "object"}]}


@dataclass(frozen=True)
class DescriptionField(TextField):
    """A family in JSON: an object with its name under ``family``."""

    pattern: str = ""
    allowed: str = f"an object with the key family, of at most {_MOST_FAMILY_CHARACTERS:,} characters"

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict) or _measure(value) > _MOST_FAMILY_CHARACTERS:
            raise InvalidInput(str(info.field_name), self.allowed, value)
        return value

    def schema(self) -> JsonSchemaValue:
        name = {"type": "string", "enum": list(FAMILIES)}
        return {"type": "object", "properties": {"family": name}, "required": ["family"]}


@dataclass(frozen=True)
class BatchField(ListField):
    """One value, or a list of 1 to 1,000."""

    or_one: bool = True

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, list) and len(value) > MOST_LISTED:
            raise InvalidInput(
                str(info.field_name), f"a list of at most {MOST_LISTED:,} values", f"{len(value)} values"
            )
        return super().read(value, info)

    def schema(self) -> JsonSchemaValue:
        item = self.item.schema()
        return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1, "maxItems": MOST_LISTED}]}


_Name = Annotated[str, ChoiceField(SIMPLE), Field(description="A family of /v1/families that is not composed.")]
_Probability = Annotated[Exact, NumberField(ends_included=False)]
_Limits = Annotated[Any, LimitsField(), Field(description=f"How many changes are of interest: {_LIMITS_ALLOWED}.")]
_JsonLimits = Annotated[Any, BudgetField(), Field(description="How many changes of each kind are of interest.")]
_JsonBudget = Annotated[Any, BudgetField(), Field(description="The wanted budget.")]
_Description = Annotated[dict[str, Any], DescriptionField(), Field(description="A family, as /v1/families has them.")]
_TopK = Annotated[
    int, IntegerField(1, MAX_TOP_K), Field(description="Keep the class among so many most probable ones.")
]
_Q = Annotated[Exact, NumberField(), Field(description="ρ⁻¹(q): 1/2 keeps the class first, 1/(k+1) among the first k.")]


class SimpleFamilyQuery(RequestModel):
    """A family whose parameters are numbers."""

    family: _Name
    k: K | None = None
    alpha: Alpha | None = None
    p_add: Annotated[_Probability, Field(description="sparse: P[a zero becomes something else].")] | None = None
    p_del: Annotated[_Probability, Field(description="sparse: P[another value is changed].")] | None = None
    m: Annotated[_Probability, Field(description="mask, deletion: P[a coordinate is hidden].")] | None = None
    keep: D | None = None
    d: D | None = None

    def make_family(self) -> Family:
        """Return the family; errors name its parameters as the query does."""
        values = {name: getattr(self, name) for name in SimpleFamilyQuery.model_fields}
        try:
            return make_family({name: value for name, value in values.items() if value is not None})
        except InvalidInput as error:
            raise InvalidInput(error.field.removeprefix("family."), error.allowed, error.value) from None


class FamilyBody(RequestModel):
    """Any family, by its description."""

    family: _Description

    def make_family(self) -> Family:
        """Return the family. There are bounds for what it counts, so that JSON can have it."""
        family = make_family(self.family)
        if any(most is not None and most > MAX_DIMENSION for most in family.most):
            raise InvalidInput("family", f"a family of at most {MAX_DIMENSION:,} coordinates", "one of more")
        return family


class _EvidenceFields(RequestModel):
    """A probability, optionally with a bound for the runner-up; or votes."""

    top_k: _TopK = 1
    p: Any = None
    p_b: Any = None
    count: Any = None
    n: N | None = None
    failure: Failure | None = None

    @model_validator(mode="after")
    def _check_evidence(self) -> Self:
        self.read_evidence()
        return self

    def read_evidence(self) -> Evidence:
        """Return the evidence."""
        return read_evidence(self.p, self.p_b, self.count, self.n, self.failure)


class CertifiedQuery(SimpleFamilyQuery, _EvidenceFields):
    """The budgets that one probability, or votes, certify."""

    limits: _Limits | None = None
    p: P | None = None
    p_b: RunnerUp | None = None
    count: Count | None = None


class CertifiedBody(FamilyBody, _EvidenceFields):
    """The budgets that a probability or votes certify, or each of a list of them."""

    limits: _JsonLimits | None = None
    p: (
        Annotated[Any, BatchField(NumberField()), Field(description="Lower bound of the probability, or a list.")]
        | None
    ) = None
    p_b: (
        Annotated[Any, BatchField(NumberField()), Field(description="One bound for all p, or one for each.")] | None
    ) = None
    count: (
        Annotated[Any, BatchField(IntegerField(0, 10**8)), Field(description="Votes for the top class, or a list.")]
        | None
    ) = None


class BudgetThresholdsQuery(SimpleFamilyQuery):
    """The thresholds of all budgets within limits."""

    limits: _Limits | None = None
    q: _Q = "1/2"


class BudgetThresholdsBody(FamilyBody):
    """The thresholds of all budgets of any family within limits."""

    limits: _JsonLimits | None = None
    q: _Q = "1/2"


class BudgetPlanQuery(SimpleFamilyQuery):
    """A budget and a probability, to get the number of votes."""

    budget: Annotated[Any, LimitsField(), Field(description=f"The wanted budget: {_LIMITS_ALLOWED}.")]
    p: P
    failure: Failure = DEFAULT_FAILURE
    power: Power = DEFAULT_POWER


class BudgetPlanBody(FamilyBody):
    """A budget of any family and a probability, to get the number of votes."""

    budget: _JsonBudget
    p: P
    failure: Failure = DEFAULT_FAILURE
    power: Power = DEFAULT_POWER


def names_family(body: bytes) -> bool:
    """Return whether a body may be about a family: whether it has the word."""
    return b'"family"' in body


def parse_certified(body: bytes) -> CertifiedBody:
    """Parse a JSON body that has a family."""
    return CertifiedBody.model_validate(parse_family_body(body), context=JSON_BODY)


def parse_budget_thresholds(body: bytes) -> BudgetThresholdsBody:
    """Parse a JSON body."""
    return BudgetThresholdsBody.model_validate(parse_family_body(body), context=JSON_BODY)


def parse_budget_plan(body: bytes) -> BudgetPlanBody:
    """Parse a JSON body."""
    return BudgetPlanBody.model_validate(parse_family_body(body), context=JSON_BODY)


def parse_family_body(body: bytes) -> Any:
    """Parse JSON of a size that nobody has to wait for."""
    if len(body) > _MOST_BYTES:
        raise HttpProblem(
            422, f"a body with a family has at most {_MOST_BYTES:,} bytes", field="body", allowed="a smaller body"
        )
    return parse_json(body)


def _measure(description: Mapping[str, Any]) -> int:
    """About how many characters a description has as JSON, however deeply it is nested."""
    waiting: list[Any] = [description]
    characters = 0
    while waiting:
        value = waiting.pop()
        characters += 2
        if isinstance(value, dict):
            waiting += value.values()
            waiting += value
        elif isinstance(value, list):
            waiting += value
        else:
            characters += value.bit_length() // 3 if type(value) is int else len(str(value))
    return characters
