"""What the benchmarks share: the fastest of several runs, and how a measured ratio is printed."""

import time
from collections.abc import Callable
from typing import NamedTuple

REPEATS = 5


class Measurement(NamedTuple):
    what: str
    ratio: str
    times: str


def seconds(work: Callable[[], object], calls: int = 1) -> float:
    """The fastest of several runs, a call: what the machine can do when nobody disturbs it."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best
