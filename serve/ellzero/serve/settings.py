"""What an operator may set, each by an environment variable ELLZERO_SERVE_<NAME>; docs/serving.md explains them."""

from importlib.util import find_spec
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "ELLZERO_SERVE_"


class ApiKey(BaseModel):
    """A caller's key: only its SHA-256 is kept. ``routes`` are the paths it opens, all of /v1 by default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    routes: tuple[str, ...] = ("/v1/", "/metrics")


class ServeSettings(BaseSettings):
    """The settings of one service. Defaults suit a laptop: the table that ships, on loopback, one process."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    tables: Annotated[str | None, Field(description="Path or URI of the table; the one that ships by default.")] = None
    write_back: Annotated[bool, Field(description="Add columns that had to be computed to the table.")] = False
    models: Annotated[
        str | None, Field(description="Folder of models (.safetensors) to vote with; by default the one that ships.")
    ] = None
    device: Annotated[str, Field(description="Where models run: auto, cpu, cuda or cuda:0.")] = "auto"
    allow_factories: Annotated[
        tuple[str, ...], Field(description="module:function that may build a model's network, as JSON. It is code.")
    ] = ()
    jobs: Annotated[
        str | None, Field(description="Folder of job records; one of this user's in the temporary folder by default.")
    ] = None
    max_votes: Annotated[
        int, Field(ge=1, description="Most votes that a request may ask for, all inputs together.")
    ] = 20_000_000
    max_open_inputs: Annotated[
        int, Field(ge=1, description="Inputs that are voted on at once for a model; further ones are answered 429.")
    ] = 256
    host: Annotated[str, Field(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on.")] = 8000
    workers: Annotated[int, Field(ge=1, le=256, description="Processes that serve.")] = 1
    max_seconds: Annotated[
        float, Field(gt=0, description="Work on demand that is expected to take longer is refused with 422.")
    ] = 5.0
    compute_threads: Annotated[int, Field(ge=1, le=64, description="Threads that compute on demand.")] = 2
    max_body_bytes: Annotated[int, Field(ge=1024, description="Largest body of a request.")] = 32 * 2**20
    max_concurrency: Annotated[
        int, Field(ge=1, description="Requests under way at once in a process; further ones are answered 503.")
    ] = 2_000
    request_timeout: Annotated[
        float, Field(gt=0, description="Seconds in which a request must have arrived and been answered.")
    ] = 30.0
    keep_alive: Annotated[int, Field(ge=1, description="Seconds that an idle connection is kept.")] = 75
    drain_seconds: Annotated[
        float, Field(ge=0, description="On SIGTERM: how long connections are still served and asked to close.")
    ] = 1.0
    api_keys: Annotated[
        dict[str, ApiKey], Field(description='Keys by name, as JSON: {"alice": {"sha256": "…"}}; none: open to all.')
    ] = {}
    cors_origins: Annotated[
        tuple[str, ...], Field(description="Origins of other pages that may ask, as JSON; none by default.")
    ] = ()
    log_format: Annotated[Literal["json", "text"], Field(description="Log lines as JSON or for people.")] = "json"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="info has a line a request, warning only what went wrong."),
    ] = "info"


def can_vote() -> bool:
    """Whether what models need is installed."""
    return find_spec("torch") is not None and find_spec("safetensors") is not None
