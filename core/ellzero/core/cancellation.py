"""Stopping long work from outside, whatever it was expected to take.

The caller says when to stop; the engine's loops check now and then, which costs next to nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ellzero.core.errors import Stopped

# How many steps a loop may take between two checks: in balls, a microsecond each, or in integers of any size.
BALL_STEPS, EXACT_STEPS = 512, 16

_should_stop: ContextVar[Callable[[], bool] | None] = ContextVar("ellzero_should_stop", default=None)


@contextmanager
def cancel_when(should_stop: Callable[[], bool]) -> Iterator[None]:
    """Make work inside the block raise `Stopped` soon after ``should_stop()`` becomes true, in this thread only.

    >>> with cancel_when(lambda: True):
    ...     check_cancelled()
    Traceback (most recent call last):
    ellzero.core.errors.Stopped: stopped before there was a result
    """
    token = _should_stop.set(should_stop)
    try:
        yield
    finally:
        _should_stop.reset(token)


def check_cancelled() -> None:
    """Raise `Stopped` if this work should stop."""
    should_stop = _should_stop.get()
    if should_stop is not None and should_stop():
        raise Stopped
