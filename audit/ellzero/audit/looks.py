"""Where the votes were looked at, by the name of the stopping rule: nobody can choose the looks after the votes."""

from fractions import Fraction
from typing import Final

STOPPING: Final = ("settled", "staged", "hasty", "anytime", "never")
_LAST_SHARES = {"staged": Fraction(9, 10), "hasty": Fraction(7, 10)}


def is_staged(stopping: str) -> bool:
    """Whether the rule has looks of its own, of which a run makes the first few."""
    return stopping in _LAST_SHARES


def list_looks(stopping: str, n: int, failure: Fraction) -> list[tuple[int, Fraction]]:
    """The numbers of votes of a staged rule, ascending, and their shares of the failure, which add up to it.

    From n down each is ⌊7/8⌋ of the next, as long as it is at least 32 and at least ⌊n/256⌋. The last has 9/10 of the
    failure (staged) or 7/10 (hasty); the others share the rest in proportion to their votes.
    """
    numbers = [n]
    while (earlier := numbers[0] * 7 // 8) >= max(32, n // 256):
        numbers.insert(0, earlier)
    *others, last = numbers
    if not others:
        return [(n, failure)]
    last_share = _LAST_SHARES[stopping] * failure
    rest = (failure - last_share) / sum(others)
    return [*((each, each * rest) for each in others), (last, last_share)]
