"""The certificates of the nodes of a graph, from votes on all of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ellzero.certificates import Family, InvalidInput, Total, Votes, lower_bound
from ellzero.certificates.binomial_tails import SuccessProbability
from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts
from ellzero.certificates.certified_budgets import CertifiedBudgets, find_staircase
from ellzero.certificates.families.base import Budget, Counts
from ellzero.certificates.products import Products
from ellzero.certificates.votes import least_count, never_exceeded
from ellzero.smoothing.results import ABSTAIN

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

MOST_CELLS: Final = 1_000_000
"""Budgets in one accuracy map."""


class LeastCounts:
    """k* of each budget: the least count out of n that certifies it at a failure probability, computed once.

    A count certifies a budget iff it is at least k*, so a whole graph costs one threshold for each budget.
    """

    def __init__(self, family: Family, n: int, failure: Fraction) -> None:
        self.family, self.n, self.failure = family, n, failure
        self._products = Products()
        self._known: dict[Counts, int] = {}

    def __call__(self, counts: Counts) -> int:
        """k*; n + 1 if even n votes do not certify the budget."""
        if counts not in self._known:
            tau = SuccessProbability(inverse_of_counts(self.family, counts, HALF, self._products))
            least = None if never_exceeded(tau) else least_count(tau, self.n, self.failure)
            self._known[counts] = self.n + 1 if least is None else least
        return self._known[counts]


@dataclass(frozen=True)
class NodeCertificate:
    """The class that the smoothed network gives a node, as long as the graph differs from this one within `budgets`.

    Holds with probability at least 1 − ``failure``. n0 votes chose the class ``selected``; of ``n`` others ``count``
    were for it. ``prediction`` is that class, or ``ABSTAIN`` where they do not show that it is the most probable.
    """

    node: int
    prediction: int
    selected: int
    count: int
    n: int
    failure: Fraction
    _of: "NodeCertificates" = field(repr=False, compare=False)

    @property
    def lower_bound(self) -> float:
        """A lower bound of the probability of the class, which these votes prove."""
        return lower_bound(Votes(self.count, self.n, self.failure))

    @property
    def radius(self) -> int | None:
        """How many changes of any kinds are certified; None to abstain."""
        return self._of.radius_of(self.count)

    def budgets(self, limits: Budget) -> CertifiedBudgets:
        """The largest budgets within ``limits`` that are certified: how many changes of each kind."""
        return self._of.budgets_of(self.count, limits)


@dataclass(frozen=True, eq=False)
class NodeCertificates:
    """A certificate for each of ``nodes``, all from the same noisy graphs.

    ``selection`` are the n0 votes that chose a class for each node, ``counts`` the n others, nodes × classes. Each
    certificate by itself is false with probability at most ``node_failure``. That is ``failure``; or with
    ``simultaneous`` failure divided by the number of nodes, so that with probability 1 − failure *all* hold at once.
    ``noise`` says what was struck and what a change is; there are ``d`` coordinates to change.
    """

    nodes: Integers
    selection: Integers
    counts: Integers
    failure: Fraction
    simultaneous: bool
    family: Family
    d: int
    seed: int
    noise: Mapping[str, Any]
    seconds: float

    @property
    def n0(self) -> int:
        return int(self.selection[0].sum())

    @property
    def n(self) -> int:
        return int(self.counts[0].sum())

    @property
    def node_failure(self) -> Fraction:
        """The failure probability of each certificate."""
        return self.failure / len(self.nodes) if self.simultaneous else self.failure

    @cached_property
    def selected(self) -> Integers:
        """The class with most of the n0 votes, for each node; of several the first."""
        classes: Integers = self.selection.argmax(axis=1)
        return classes

    @cached_property
    def votes(self) -> Integers:
        """Of the n other votes those for the selected class, for each node."""
        return np.take_along_axis(self.counts, self.selected[:, None], axis=1)[:, 0]

    @cached_property
    def predictions(self) -> Integers:
        """The class of each node, or ``ABSTAIN``."""
        nothing = (0,) * len(self.family.axes)
        return np.where(self.votes >= self._least(nothing), self.selected, ABSTAIN)

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, place: int) -> NodeCertificate:
        """The certificate of the node ``nodes[place]``."""
        return NodeCertificate(
            int(self.nodes[place]),
            int(self.predictions[place]),
            int(self.selected[place]),
            int(self.votes[place]),
            self.n,
            self.node_failure,
            self,
        )

    def __iter__(self) -> Iterator[NodeCertificate]:
        return (self[place] for place in range(len(self)))

    def certifies(self, budget: Budget) -> Booleans:
        """Which nodes keep their class wherever the graph differs within this budget."""
        return self.votes >= self._least(self.family.read_budget(budget))

    def accuracy(self, labels: npt.ArrayLike, budget: Budget) -> float:
        """ACC@budget: the share of nodes that are right and certified at this budget. ``labels`` are of `nodes`."""
        return float((self.certifies(budget) & self._right(labels)).mean())

    def accuracy_map(self, labels: npt.ArrayLike, limits: Budget) -> npt.NDArray[np.float64]:
        """ACC@budget for every budget within ``limits``, with an axis for each kind of change of the family."""
        most = self.family.read_budget(limits, "limits")
        shape = [limit + 1 for limit in most]
        if prod(shape) > MOST_CELLS:
            raise InvalidInput("limits", f"of at most {MOST_CELLS:,} budgets", limits)
        right = self.votes[self._right(labels)]
        shares = [(right >= self._least(counts)).sum() / len(self) for counts in product(*map(range, shape))]
        return np.array(shares).reshape(shape)

    def budgets(self, limits: Budget) -> list[CertifiedBudgets]:
        """The largest certified budgets within ``limits`` of each node; None to abstain. Equal counts share one."""
        return [self.budgets_of(count, limits) for count in self.votes.tolist()]

    def staircases(self, limits: Budget) -> list[tuple[Counts, ...]]:
        """The same as counts of each kind, in the order of the family's axes; none to abstain."""
        most = self.family.read_budget(limits, "limits")
        return [self._staircase(count, most) for count in self.votes.tolist()]

    def budgets_of(self, count: int, limits: Budget) -> CertifiedBudgets:
        """The largest budgets that so many votes certify."""
        largest = self._staircase(count, self.family.read_budget(limits, "limits"))
        return tuple(map(self.family.write_budget, largest)) if largest else None

    def radius_of(self, count: int) -> int | None:
        """The radius, in changes of any kinds, that so many votes certify."""
        return self._radius(count)

    @cached_property
    def _least(self) -> LeastCounts:
        return LeastCounts(self.family, self.n, self.node_failure)

    @cached_property
    def _staircase(self) -> Callable[[int, Counts], tuple[Counts, ...]]:
        @cache
        def staircase(count: int, most: Counts) -> tuple[Counts, ...]:
            return tuple(find_staircase(lambda counts: count >= self._least(counts), most))

        return staircase

    @cached_property
    def _radius(self) -> Callable[[int], int | None]:
        least = LeastCounts(Total(self.family), self.n, self.node_failure)

        @cache
        def radius(count: int) -> int | None:
            largest = find_staircase(lambda counts: count >= least(counts), (self.d,))
            return largest[0][0] if largest else None

        return radius

    def _right(self, labels: npt.ArrayLike) -> Booleans:
        given = np.asarray(labels)
        if given.shape != self.nodes.shape:
            raise InvalidInput("labels", f"of shape {self.nodes.shape}, one for each certified node", given.shape)
        right: Booleans = self.selected == given
        return right
