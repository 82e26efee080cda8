"""Until when a request must have been answered: one moment for all that is done for it."""

from contextvars import ContextVar
from math import inf
from time import monotonic

_until: ContextVar[float] = ContextVar("ellzero_request_until", default=inf)


def begin(seconds: float) -> None:
    """The request of this task must be answered so many seconds from now."""
    _until.set(monotonic() + seconds)


def until() -> float:
    """The moment on the monotonic clock; infinity outside of any request."""
    return _until.get()


def remaining() -> float:
    """The seconds left."""
    return _until.get() - monotonic()
