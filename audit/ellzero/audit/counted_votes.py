"""Votes as they were counted, and whether they can be those of one certificate."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ellzero.audit.looks import is_staged, list_looks


@dataclass(frozen=True)
class StatedLook:
    """``count`` of the first ``n`` votes were for the class; the bound at this look has this share of the failure.

    ``rival`` is how many were for the strongest other class, where all classes are bounded.
    """

    n: int
    failure: Fraction
    count: int
    rival: int | None = None


@dataclass(frozen=True)
class CountedVotes:
    """The votes of one input, and how they were taken: what a certificate is made of.

    n0 votes of ``selection`` chose the class, and ``counts`` of fresh ones bound its probability. Every rule has
    ``looks`` at them: see `make_looks`.
    """

    noise: Mapping[str, Any]
    d: int
    selected: int
    selection: tuple[int, ...]
    counts: tuple[int, ...]
    looks: tuple[StatedLook, ...]
    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: str
    runner_up: bool
    top_k: int = 1

    @property
    def drawn(self) -> int:
        """How many fresh votes there were."""
        return sum(self.counts)


def make_looks(
    counts: tuple[int, ...],
    selected: int,
    n: int,
    failure: Fraction,
    stopping: str,
    runner_up: bool,
    staged: tuple[StatedLook, ...],
) -> tuple[StatedLook, ...]:
    """The looks of any rule: those that a staged one made, and otherwise one at the end.

    At n votes fixed beforehand, those that were not drawn are failures, and votes for the strongest other class.
    """
    if is_staged(stopping):
        return tuple(StatedLook(each.n, each.failure, each.count, each.rival if runner_up else None) for each in staged)
    drawn = sum(counts)
    others = (votes for label, votes in enumerate(counts) if label != selected)
    rival = max(others) + n - drawn if runner_up else None
    return (StatedLook(drawn if stopping == "anytime" else n, failure, counts[selected], rival),)


def find_contradiction(votes: CountedVotes) -> str | None:
    """Why the votes cannot be those of one certificate; None if they can."""
    return next(_list_contradictions(votes), None)


def _list_contradictions(votes: CountedVotes) -> Iterator[str]:
    selection, counts, chosen, n = votes.selection, votes.counts, votes.selected, votes.n
    if not 2 <= len(selection) == len(counts):
        yield "selection and counts have different numbers of classes"
    if sum(selection) != votes.n0:
        yield "the votes of selection are not n0"
    if not 0 <= chosen < len(selection):
        yield "there is no such class"
    elif selection.index(max(selection)) != chosen:
        yield "the class is not the first with most votes in selection"
    if not 1 <= votes.drawn <= n:
        yield "counts add up to no number of votes from 1 to n"
    if votes.top_k >= len(counts):
        yield "top_k leaves out no class"
    if votes.runner_up and (votes.top_k != 1 or votes.stopping == "anytime"):
        yield "runner_up is for top_k 1, and not for the rule anytime"
    if is_staged(votes.stopping):
        yield from _list_wrong_looks(votes)
    elif votes.looks != make_looks(counts, chosen, n, votes.failure, votes.stopping, votes.runner_up, ()):
        yield f"the looks are not those of {votes.stopping}"
    if votes.stopping == "never" and votes.drawn != n:
        yield "not all n votes were drawn"


def _list_wrong_looks(votes: CountedVotes) -> Iterator[str]:
    looks, chosen = votes.looks, votes.selected
    others = [count for label, count in enumerate(votes.counts) if label != chosen]
    plan = list_looks(votes.stopping, votes.n, votes.failure)[: len(looks)]
    if not looks or [(look.n, look.failure) for look in looks] != plan:
        yield f"the looks are not those of {votes.stopping}"
        return
    if (looks[-1].n, looks[-1].count) != (votes.drawn, votes.counts[chosen]):
        yield "the last look does not have the votes of counts"
    if votes.runner_up and looks[-1].rival != max(others):
        yield "the last look does not have the votes of counts"
    for before, after in pairwise(looks):
        more = after.n - before.n
        if not 0 <= after.count - before.count <= more:
            yield "the counts at the looks are not those of the same votes"
        rest = more - (after.count - before.count)
        if votes.runner_up and not 0 <= (after.rival or 0) - (before.rival or 0) <= rest:
            yield "the rivals at the looks are not those of the same votes"
    for look in looks:
        missing = look.n - look.count
        if missing < 0:
            yield "a look has more votes for the class than votes"
        if votes.runner_up and not -(-missing // len(others)) <= (-1 if look.rival is None else look.rival) <= missing:
            yield "a look has a rival that its votes do not allow"
