"""Searching outwards from a guess, where a condition, once lost, stays lost."""

from collections.abc import Callable

from ellzero.certificates._search import last_true


def last_true_near(holds: Callable[[int], bool], guess: int, low: int, high: int) -> int:
    """The largest n in low..high for which the condition holds, given that it does at low.

    Asks twice where the guess is right, and about 2·log₂ of its error times otherwise; never at low.
    """
    at = min(max(guess, low), high)
    if at == low or holds(at):
        return last_true(holds, at, high)
    return at - 1 - last_true(lambda down: not holds(at - down), 0, at - low - 1)
