"""Settings, each an environment variable ELLZERO_SERVE_<NAME>; docs/serving.md lists them."""

import os
import re
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from ellzero.core.errors import InvalidInput

PREFIX = "ELLZERO_SERVE_"
_FIELD_OF_ERROR = re.compile(r'field "(\w+)"')


class ApiKey(BaseModel):
    """A client's key, stored as its SHA-256. ``routes`` are the paths it is valid for, by default all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    routes: tuple[str, ...] = ("/v1/", "/metrics")


class ServeSettings(BaseSettings):
    """The settings of one service. The defaults suit a laptop: the bundled table, on loopback, one process."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    tables: Annotated[str | None, Field(description="Path or URI of the table; by default the bundled one.")] = None
    tables_manifest: Annotated[
        str | None, Field(description="File of a signed manifest: a table that is not as signed is refused.")
    ] = None
    tables_public_key: Annotated[
        str | None, Field(description="PEM file of the key that must have signed the manifest.")
    ] = None
    write_back: Annotated[bool, Field(description="Add columns that were computed on demand to the table.")] = False
    models: Annotated[
        str | None,
        Field(description="Folder of models (.safetensors; .json for trees), beside the bundled demo-digits."),
    ] = None
    device: Annotated[str, Field(description="Device for models: auto, cpu, cuda or cuda:0.")] = "auto"
    allow_factories: Annotated[
        tuple[str, ...],
        Field(description="Factories (module:function) that may build models, as a JSON list. They run code."),
    ] = ()
    jobs: Annotated[
        str | None, Field(description="Folder of job records; by default one for this user in the temporary directory.")
    ] = None
    results: Annotated[
        str | None, Field(description="Folder of results (ellzero certify --out), in it or below, to show.")
    ] = None
    max_votes: Annotated[int, Field(ge=1, description="Most votes per request, for all inputs together.")] = 20_000_000
    max_open_inputs: Annotated[
        int, Field(ge=1, description="Most inputs in progress per model; further requests get 429.")
    ] = 256
    host: Annotated[str, Field(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on.")] = 8000
    workers: Annotated[int, Field(ge=1, le=256, description="Worker processes.")] = 1
    max_seconds: Annotated[
        float, Field(gt=0, description="Computations that are expected to take more seconds are refused with 422.")
    ] = 5.0
    compute_threads: Annotated[int, Field(ge=1, le=64, description="Threads for computations on demand.")] = 2
    max_body_bytes: Annotated[int, Field(ge=1024, description="Largest request body.")] = 32 * 2**20
    max_concurrency: Annotated[
        int, Field(ge=1, description="Requests in progress per worker; further ones get 503.")
    ] = 2_000
    request_timeout: Annotated[
        float, Field(gt=0, description="Seconds within which a request must arrive and be answered.")
    ] = 30.0
    keep_alive: Annotated[int, Field(ge=1, description="Seconds to keep an idle connection open.")] = 75
    drain_seconds: Annotated[
        float,
        Field(
            ge=0, description="After SIGTERM: seconds in which requests are still answered, with `connection: close`."
        ),
    ] = 1.0
    api_keys: Annotated[
        dict[str, ApiKey],
        Field(description='API keys by name, as JSON: {"alice": {"sha256": "…"}}; none by default: open to all.'),
    ] = {}
    cors_origins: Annotated[
        tuple[str, ...],
        Field(description="Origins whose pages may use the API (CORS), as a JSON list; none by default."),
    ] = ()
    log_format: Annotated[Literal["json", "text"], Field(description="Log lines as JSON, or as text.")] = "json"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="info logs every request, warning only failures."),
    ] = "info"


def read_settings(**options: Any) -> ServeSettings:
    """Return the settings of the environment, with ``options`` on top of them.

    `InvalidInput` names the option, or the environment variable, and what is allowed.
    """
    try:
        return ServeSettings(**options)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, value = str(first["loc"][0]), first["input"]
    except SettingsError as error:  # a variable that should be JSON
        match = _FIELD_OF_ERROR.search(str(error))
        if match is None:
            raise
        name = match[1]
        value = os.environ.get(variable_name(name))
    raise InvalidInput(name if name in options else variable_name(name), _describe_allowed(name), value) from None


def variable_name(setting: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{setting.upper()}"


def find_unknown_variables() -> list[tuple[str, str | None]]:
    """Return the ELLZERO_SERVE_… variables that are not settings, each with the setting's variable nearest to it."""
    variables = [variable_name(name) for name in ServeSettings.model_fields]
    unknown = [name for name in sorted(os.environ) if name.startswith(PREFIX) and name not in variables]
    return [(name, next(iter(get_close_matches(name, variables, 1)), None)) for name in unknown]


def _describe_allowed(name: str) -> str:
    """Return what a setting may be, in words, by its JSON schema."""
    schema = ServeSettings.model_json_schema()["properties"][name]
    if "enum" in schema:
        return " or ".join(schema["enum"])
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    match schema.get("type"):
        case "integer" if high is not None:
            return f"an integer from {low} to {high}"
        case "integer":
            return f"an integer of at least {low}"
        case "number":
            return f"a number above {low}" if "exclusiveMinimum" in schema else f"a number of at least {low}"
        case "boolean":
            return "true or false"
        case "array":
            return 'a JSON list such as ["one", "two"]'
        case "object":
            return 'JSON such as {"alice": {"sha256": "64 hexadecimal digits"}}, as --new-key prints it'
        case _:
            return "text"


def can_vote() -> bool:
    """Return whether torch and safetensors, which networks need, are installed."""
    return find_spec("torch") is not None and find_spec("safetensors") is not None


def can_certify_trees() -> bool:
    """Return whether scikit-learn and scipy, which trees need, are installed."""
    return find_spec("sklearn") is not None and find_spec("scipy") is not None
