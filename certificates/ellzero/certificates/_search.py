"""Searching where a condition, once lost, stays lost."""

from collections.abc import Callable


def last_true(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The largest n in low..high for which the condition holds, given that it does at low: doubling, then bisection."""
    step, beyond = 1, high + 1
    while low + step < beyond:
        if not holds(low + step):
            beyond = low + step
            break
        low += step
        step *= 2
    while beyond - low > 1:
        middle = (low + beyond) // 2
        if holds(middle):
            low = middle
        else:
            beyond = middle
    return low
