"""Searching for the last n at which a condition holds that, once false, stays false."""

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


def last_true_near(holds: Callable[[int], bool], guess: int, low: int, high: int) -> int:
    """The largest n in low..high for which the condition holds, given that it does at low.

    Tests the condition twice if the guess is right, otherwise about 2·log₂(error) times; never at low.
    """
    at = min(max(guess, low), high)
    if at == low or holds(at):
        return last_true(holds, at, high)
    return at - 1 - last_true(lambda down: not holds(at - down), 0, at - low - 1)
