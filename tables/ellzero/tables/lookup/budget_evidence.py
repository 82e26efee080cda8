"""Whether a probability, or votes, exceed the threshold of a budget: by its row, and exactly where that cannot tell.

A row says that τ is its decimal, or lies less than 10^-20 below it; and that τ lies below the double ``min_p``, and not
below the one before.
"""

from fractions import Fraction
from math import inf, nextafter
from typing import Protocol

import numpy as np

from ellzero.certificates import Family, Votes
from ellzero.certificates.budget_thresholds import exceeds, inverse_of_counts
from ellzero.certificates.certified_budgets import bound_votes
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Products
from ellzero.certificates.rounding import Row
from ellzero.core.numbers import RationalLike, read_probability
from ellzero.tables.format.rows import SCALE


class BudgetEvidence(Protocol):
    """A probability p, or what votes prove of it."""

    def decide(self, row: Row) -> bool | None:
        """Whether p exceeds the threshold of this row; None if the row cannot tell."""

    def exceeds(self, family: Family, counts: Counts, q: Fraction, products: Products) -> bool:
        """Whether p exceeds ρ⁻¹(q), by exact arithmetic."""


def read_budget_evidence(p: RationalLike | Votes) -> BudgetEvidence:
    """Votes, or a probability; a float counts as its exact value."""
    if isinstance(p, Votes):
        return _Votes(p)
    top = read_probability(p, "p")
    return _Double(top) if isinstance(p, float | np.float32 | np.float16) else _Rational(top)


class _Rational:
    """An exact number: a row cannot decide one less than 10^-20 below a threshold that is no decimal."""

    def __init__(self, p: Fraction) -> None:
        self._p = p
        self._scaled: Fraction = p * SCALE

    def decide(self, row: Row) -> bool | None:
        units, exact = row.ceiling
        if exact:
            return self._scaled > units
        if self._scaled >= units:
            return True
        return False if self._scaled <= units - 1 else None

    def exceeds(self, family: Family, counts: Counts, q: Fraction, products: Products) -> bool:
        return exceeds(family, counts, self._p, q, products)


class _Double(_Rational):
    """A double, which min_p always decides."""

    def __init__(self, p: Fraction) -> None:
        super().__init__(p)
        self._double = float(p)

    def decide(self, row: Row) -> bool | None:
        return self._double >= row.min_p


class _Votes:
    """Votes: undecided if what they prove is between the numbers that τ may be."""

    def __init__(self, votes: Votes) -> None:
        self._bound = bound_votes(votes)

    def decide(self, row: Row) -> bool | None:
        if self._bound.low >= row.min_p:
            return True
        if nextafter(self._bound.low, inf) < row.min_p:  # then τ is at least that double
            return False
        units, exact = row.ceiling
        if self._bound.is_above(Fraction(units, SCALE)):
            return True
        return False if exact or not self._bound.is_above(Fraction(units - 1, SCALE)) else None

    def exceeds(self, family: Family, counts: Counts, q: Fraction, products: Products) -> bool:
        return self._bound.is_above(inverse_of_counts(family, counts, q, products))
