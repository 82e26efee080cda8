"""Field types of requests: each value is read exactly, and OpenAPI states what is allowed.

Values are read by the same functions as everywhere else in ellzero, so the service allows what the library allows. In a
query every value is text. In a JSON body an integer is a JSON integer, and a number may be a JSON number or text: both
stand for exactly what is written.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer

JSON_BODY = "json"  # the validation context in which text stands for neither an integer nor a flag
MAX_CHARACTERS = 400  # enough for any double written as a fraction
MAX_VALUES = 1_000_000
MAX_INPUTS = 256  # of a model, in one request
MODEL_NAME = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}", re.ASCII)
_NUMBER = f"a number, or text of at most {MAX_CHARACTERS} characters such as '0.99' or '4/5'"
_NUMBER_TEXT = {
    "type": "string",
    "maxLength": MAX_CHARACTERS,
    "pattern": r"^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$|^[0-9]+/[0-9]+$",
}


class JsonNumber(str):
    """The text of a JSON number that has a point or an exponent. It stands for the decimal that it writes.

    A type of its own, so that no number is taken for text where text is expected.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _FieldType(ABC):
    """Reads one value; used as a pydantic annotation."""

    @abstractmethod
    def read(self, value: Any, info: ValidationInfo) -> Any:
        """Return the value, or raise InvalidInput."""

    @abstractmethod
    def schema(self) -> JsonSchemaValue:
        """Return what is allowed as JSON Schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self.schema()


@dataclass(frozen=True)
class IntegerField(_FieldType):
    """An integer from low to high."""

    low: int
    high: int

    def read(self, value: Any, info: ValidationInfo) -> int:
        if info.context != JSON_BODY and isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        return read_integer(value, str(info.field_name), self.low, self.high)

    def schema(self) -> JsonSchemaValue:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True)
class NumberField(_FieldType):
    """A number as it was written, text or a JSON number. The library checks its range."""

    ends_included: bool = True

    def read(self, value: Any, info: ValidationInfo) -> str | int:
        if isinstance(value, str) and len(value) <= MAX_CHARACTERS:
            return str(value)  # of a JSON number, its text
        if type(value) is int:
            return value
        raise InvalidInput(str(info.field_name), _NUMBER, value)

    def schema(self) -> JsonSchemaValue:
        low, high = ("minimum", "maximum") if self.ends_included else ("exclusiveMinimum", "exclusiveMaximum")
        return {"anyOf": [{"type": "number", low: 0, high: 1}, _NUMBER_TEXT]}


@dataclass(frozen=True)
class ListField(_FieldType):
    """A list of 1 to 1,000,000 values; with ``or_one`` a single value is allowed too.

    Of plain lists of texts or integers only types and lengths are checked here: the index checks all values at once.
    """

    item: IntegerField | NumberField
    or_one: bool = False

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, list):
            if self.or_one:
                return self.item.read(value, info)
            raise InvalidInput(str(info.field_name), "a list", value)
        if not 1 <= len(value) <= MAX_VALUES:
            raise InvalidInput(str(info.field_name), f"a list of 1 to {MAX_VALUES:,} values", f"{len(value)} values")
        plain = str if isinstance(self.item, NumberField) else int
        if set(map(type, value)) == {plain} and (plain is int or max(map(len, value)) <= MAX_CHARACTERS):
            return value
        return [self.item.read(one, info) for one in value]

    def schema(self) -> JsonSchemaValue:
        item = self.item.schema()
        listed = {"type": "array", "items": item, "minItems": 1, "maxItems": MAX_VALUES}
        return {"anyOf": [item, listed]} if self.or_one else listed


@dataclass(frozen=True)
class TextField(_FieldType):
    """Text that matches a pattern."""

    pattern: str
    allowed: str

    def read(self, value: Any, info: ValidationInfo) -> str:
        if type(value) is str and re.fullmatch(self.pattern, value, re.ASCII):
            return value
        raise InvalidInput(str(info.field_name), self.allowed, value)

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "pattern": f"^{self.pattern}$"}


@dataclass(frozen=True)
class ChoiceField(_FieldType):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, value: Any, info: ValidationInfo) -> str:
        if type(value) is str and value in self.words:
            return value
        raise InvalidInput(str(info.field_name), " or ".join(self.words), value)

    def schema(self) -> JsonSchemaValue:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class FlagField(_FieldType):
    """true or false."""

    def read(self, value: Any, info: ValidationInfo) -> bool:
        if info.context != JSON_BODY and value in ("true", "false"):
            return bool(value == "true")
        if type(value) is bool:
            return value
        raise InvalidInput(str(info.field_name), "true or false", value)

    def schema(self) -> JsonSchemaValue:
        return {"type": "boolean"}


Exact: TypeAlias = str | int
"""A number as it was written."""
N = Annotated[int, IntegerField(1, MAX_VOTES), Field(description="Total number of votes.")]
Failure = Annotated[
    Exact,
    NumberField(ends_included=False),
    Field(description=f"Probability of a false certificate; {DEFAULT_FAILURE} by default."),
]


class RequestModel(BaseModel):
    """Base of all requests: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoParameters(RequestModel):
    """A request without parameters."""
