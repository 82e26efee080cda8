"""Long work that can be told to stop from outside, whatever it was expected to take.

Whoever computes for others says when to stop; the engine's loops look now and then, which costs next to nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ellzero.core.errors import Stopped

# How many steps a loop may take between two looks: of balls, a microsecond each, or of integers of any size.
BALL_STEPS, EXACT_STEPS = 512, 16

_wished: ContextVar[Callable[[], bool] | None] = ContextVar("ellzero_stop_wished", default=None)


@contextmanager
def cancel_when(wished: Callable[[], bool]) -> Iterator[None]:
    """ThreadPool inside the block raises `Stopped` soon after ``wished()`` has become true, in this thread only.

    >>> with cancel_when(lambda: True):
    ...     check_cancelled()
    Traceback (most recent call last):
    ellzero.core.errors.Stopped: stopped before there was a result
    """
    token = _wished.set(wished)
    try:
        yield
    finally:
        _wished.reset(token)


def check_cancelled() -> None:
    """Raise `Stopped` if somebody wishes this work to end."""
    wished = _wished.get()
    if wished is not None and wished():
        raise Stopped
