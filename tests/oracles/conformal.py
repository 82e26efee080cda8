"""How often conformal sets hold the true class, as an exact sum over all votes and all calibrations."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import NamedTuple

from oracles.brute_force import binomial_tail


class Case(NamedTuple):
    """Inputs of one kind: their share, and the probability of their class at x and at the x̃ that is seen."""

    share: Fraction
    clean: Fraction
    seen: Fraction


def threshold_law(cases: Sequence[Case], n: int, inputs: int, rank: int) -> list[Fraction]:
    """How likely each count 0..n is to be the one of this rank among those of independent inputs."""
    law, before = [], Fraction(0)
    for t in range(n + 1):
        below = sum((case.share * (1 - binomial_tail(n, t + 1, case.clean)) for case in cases), start=Fraction(0))
        reached = sum(
            (comb(inputs, j) * below**j * (1 - below) ** (inputs - j) for j in range(rank, inputs + 1)),
            start=Fraction(0),
        )
        law.append(reached - before)
        before = reached
    return law


def coverage(
    cases: Sequence[Case], n: int, inputs: int, rank: int, votes: int, critical: Callable[[int], int]
) -> Fraction:
    """How often the true class has at least the critical number of votes, given the threshold, on the input seen."""
    return sum(
        (
            chance * case.share * binomial_tail(votes, critical(t), case.seen)
            for t, chance in enumerate(threshold_law(cases, n, inputs, rank))
            if chance
            for case in cases
        ),
        start=Fraction(0),
    )
