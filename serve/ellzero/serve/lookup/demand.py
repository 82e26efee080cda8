"""How far the rows of a column must go for what is asked of it. Only costs depend on it, never an answer."""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Votes
from ellzero.certificates.votes import likely_lower_bound
from ellzero.core.numbers import read_probability
from ellzero.serve.lookup.request_models import Exact
from ellzero.tables.format.rows import DIGITS

_ZERO = Fraction(0)
_LAST_ROW = 1 - Fraction(1, 10**DIGITS)  # rows end where thresholds round up to 1


class Demand(NamedTuple):
    """The largest probability below 1 that is asked; how many are not plain doubles; how many lie beyond all rows."""

    reach: Fraction
    written: int = 0
    beyond: int = 0


def of_votes(votes: Votes) -> Fraction:
    """About the largest p that votes prove."""
    return Fraction(likely_lower_bound(votes))


def of_numbers(values: list[Exact]) -> Demand:
    """Of numbers in JSON: those that are written out take their own time each."""
    if set(map(type, values)) == {float}:
        return of_doubles(np.array(values))
    numbers = {read_probability(value, "p") for value in set(values)} - {Fraction(1)}
    return Demand(max(numbers, default=_ZERO), len(values), sum(number > _LAST_ROW for number in numbers))


def of_doubles(values: NDArray[Any]) -> Demand:
    """Of an array; what does not lie from 0 to 1 is refused later."""
    largest = float(values.max())
    if not 0 < largest < 1:
        below = values[(values > 0.0) & (values < 1.0)]
        largest = float(below.max()) if below.size else 0.0
    return Demand(Fraction(largest))


def least_rival(others: list[Exact]) -> Fraction:
    """The least p_b above 0: a rival without any chance is no rival."""
    rivals = {read_probability(other, "p_b") for other in set(others)}
    return min((rival for rival in rivals if rival > 0), default=Fraction(1))
