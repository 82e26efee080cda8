"""The deadline of a request: one moment for all the work that is done for it."""

from contextvars import ContextVar
from math import inf
from time import monotonic

_until: ContextVar[float] = ContextVar("ellzero_request_until", default=inf)


def start(seconds: float) -> None:
    """Set the deadline of this task's request to so many seconds from now."""
    _until.set(monotonic() + seconds)


def until() -> float:
    """Return the deadline on the monotonic clock; infinity outside of requests."""
    return _until.get()


def remaining() -> float:
    """Return the seconds left."""
    return _until.get() - monotonic()
