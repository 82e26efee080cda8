"""What went wrong, as every route says it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a request was not answered: problem details of RFC 9457, under the request's id in the service's log.

    A wrong value has ``field``, ``value`` and ``allowed``; a request that is too large or too costly has a limit.
    ``available`` lists the media types of a route if the client accepts none of them.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    field: str | None = None
    value: Any = None
    allowed: str | list[str] | None = None
    expected_seconds: float | None = None
    limit_seconds: float | None = None
    limit_votes: int | None = None
    limit_bytes: int | None = None
    available: list[str] | None = None

    @property
    def kind(self) -> str:
        """The last part of ``type``, such as "invalid-input"."""
        return self.type.rpartition(":")[2]
