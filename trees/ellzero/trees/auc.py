"""The AUC that an adversary leaves who may manipulate some of a test set's points (section 5.3 of the paper).

The paper states a 0/1 program with a product for each pair and hands it to a solver. Here a search of our own solves
it, `ellzero.trees.auc_search`: it works in integers, so that its bound is a proof that rests on no solver's tolerances.
"""

import re
import time
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_shortest
from ellzero.trees.auc_search import Integers, Search
from ellzero.trees.errors import UnusableLabels

MOST_PAIRS = 2**25
"""Pairs of a positive and a negative at most: about two gigabytes of memory, and no sum leaves 64 bits."""

_PERCENT = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s*%", re.ASCII)
_COUNT = re.compile(r"\d{1,20}", re.ASCII)
_BUDGET = "a number of points, or a share of them such as 0.25, '1/4' or '25%'"


@dataclass(frozen=True)
class AdversarialAuc:
    """How low an adversary can bring the AUC.

    ``guaranteed`` ≤ the least AUC of all manipulations ≤ ``attained``, all three equal where ``gap`` is 0.
    """

    guaranteed: Fraction
    """A proved lower bound: no manipulation of at most ``budget`` points leaves less."""
    attained: Fraction
    """What the best manipulation found leaves."""
    manipulated: npt.NDArray[np.int64]
    """The points of that manipulation, in ascending order."""
    clean: Fraction
    """The AUC without an adversary."""
    budget: int
    """The number of points that may be manipulated."""

    @property
    def gap(self) -> Fraction:
        """What is open between the guarantee and the attack."""
        return self.attained - self.guaranteed


def adversarial_auc(
    y: Any, clean: Any, low: Any, high: Any, budget: int | float | Fraction | str, time_limit: float = 60
) -> AdversarialAuc:
    """Bound the AUC from below when an adversary manipulates at most ``budget`` points of a test set.

    A manipulated point of the larger class scores ``low`` instead of ``clean``, one of the smaller class scores
    ``high``; a tie between a positive and a negative counts one half. Scores are doubles, Fractions or integers, and
    are compared exactly as given: what counts is their order alone. So a tie that rounding made or broke is a wrong
    tie; take exact scores where it matters.

    Parameters
    ----------
    y
        Labels of two classes; the larger one is the positive class.
    clean, low, high
        Scores of each point: its own, and the least and the largest that an adversary reaches, low ≤ clean ≤ high.
    budget
        An integer is a number of points. A float, a Fraction, or a text such as "25%", "1/4" or "0.25" is a share of
        all points, of which the whole number is taken (a float is its shortest decimal; "12" is a number of points).
    time_limit
        Seconds for the search, after the first bounds. With 0 there is a guarantee too, only a weaker one.

    Notes
    -----
    Proof: in half pairs the loss of AUC is an integer; the search bounds it from above in integers and keeps the best
    manipulation. Nothing in floating point decides a bound. Time and gap depend on the data; 152 molecules mostly take
    less than a second.
    """
    positive = read_labels(y)
    own, least, largest = _read_scores(clean, low, high)
    if len(positive) != len(own):
        raise InvalidInput("y", f"as many labels as there are scores, {len(own)}", len(positive))
    points = len(positive)
    number = read_budget(budget, points)
    seconds = _read_seconds(time_limit)
    above, below = np.flatnonzero(positive), np.flatnonzero(~positive)
    pairs = len(above) * len(below)
    before = _half_pairs(own[above], own[below])
    positive_moved = _half_pairs(least[above], own[below])
    negative_moved = _half_pairs(own[above], largest[below])
    both_moved = _half_pairs(least[above], largest[below])
    search = Search(
        (before - positive_moved).sum(axis=1),
        (before - negative_moved).sum(axis=0),
        (positive_moved + negative_moved - before - both_moved).astype(np.int64),
    )
    search.run(number, time.monotonic() + seconds)
    total = int(before.sum())
    best = search.best
    return AdversarialAuc(
        guaranteed=Fraction(total - search.bound, 2 * pairs),
        attained=Fraction(total - best.loss, 2 * pairs),
        manipulated=np.sort(np.concatenate([above[best.positives], below[best.negatives]])),
        clean=Fraction(total, 2 * pairs),
        budget=number,
    )


def read_budget(budget: object, points: int) -> int:
    """``budget`` as a number of points: an integer is that number, anything else a share, rounded down."""
    if isinstance(budget, str) and _COUNT.fullmatch(budget.strip()):
        budget = int(budget)
    if isinstance(budget, int | np.integer) and not isinstance(budget, bool):
        if not 0 <= budget <= points:
            raise InvalidInput("budget", f"at most the {points:,} points that there are, and at least 0", budget)
        return int(budget)
    percent = _PERCENT.fullmatch(budget.strip()) if isinstance(budget, str) else None
    share = Fraction(percent[1]) / 100 if percent else read_shortest(budget, "budget", _BUDGET)
    if not 0 <= share <= 1:
        raise InvalidInput("budget", "a share from 0 to 1 of the points", budget)
    return int(share * points)


def read_labels(y: Any) -> npt.NDArray[np.bool_]:
    """Which points are positive: of the larger of two classes."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise UnusableLabels(f"the labels must be a list of one label a point; got the shape {labels.shape}")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise UnusableLabels("the labels must be of one kind, numbers or text") from None
    if len(classes) != 2:
        raise UnusableLabels(f"an AUC needs points of two classes; got {len(classes)}")
    positive = np.asarray(labels == classes[1])
    if (pairs := int(positive.sum()) * int((~positive).sum())) > MOST_PAIRS:
        raise UnusableLabels(
            f"an AUC is bounded for {MOST_PAIRS:,} pairs of a positive and a negative at most; got {pairs:,}"
        )
    return positive


def _read_scores(clean: Any, low: Any, high: Any) -> list[Integers]:
    """The scores as ranks, so that equal scores have equal ranks and a larger one has a larger rank."""
    given = {"clean": np.asarray(clean), "low": np.asarray(low), "high": np.asarray(high)}
    for name, values in given.items():
        if values.ndim != 1 or len(values) != len(given["clean"]):
            raise InvalidInput(name, "one score a point", f"the shape {values.shape}")
    try:
        distinct = sorted({value for values in given.values() for value in values.tolist()})
        broken = any(value != value for value in distinct)  # NaN
    except TypeError:
        broken = True
    if broken:
        raise InvalidInput("clean, low and high", "numbers", "something else, such as NaN")
    rank = {value: place for place, value in enumerate(distinct)}
    ranks = [np.array([rank[value] for value in values.tolist()], np.int64) for values in given.values()]
    own, least, largest = ranks
    for name, wrong in (("low", least > own), ("high", largest < own)):
        if wrong.any():
            place = int(wrong.argmax())
            bound = "at most" if name == "low" else "at least"
            raise InvalidInput(name, f"{bound} clean at every point", f"{given[name][place]} at point {place}")
    return ranks


def _read_seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise InvalidInput("time_limit", "a number of seconds of at least 0", value)
    return float(value)


def _half_pairs(positives: Integers, negatives: Integers) -> npt.NDArray[np.int8]:
    """For each pair 2 if the positive scores higher, 1 for a tie, else 0. In bytes, since there are many of them."""
    higher, tied = positives[:, None] > negatives[None, :], positives[:, None] == negatives[None, :]
    return np.asarray(2 * higher.astype(np.int8) + tied.astype(np.int8))
