"""Sparse and joint noises: exact thresholds against the float version that one would write with numpy."""

import time
from collections.abc import Iterator
from fractions import Fraction
from math import comb, nextafter

import numpy as np
from measuring import Measurement, seconds
from numpy.typing import NDArray

from ellzero.certificates import Joint, Sparse, certified, min_p, rho, threshold, thresholds
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.base import Budget

_SIDE = 100
_PLAIN_CELLS = 500  # of the float version: all of them would take long
_DECISIONS = 10_000
_LARGEST = 12  # changes of each kind in those decisions
_GRAPH = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))


def families() -> Iterator[Measurement]:
    yield _square()
    yield _large_square()
    yield _joint()
    yield _decisions()
    yield _false_certificate()


def _square() -> Measurement:
    cells = [(add, delete) for add in range(_SIDE) for delete in range(_SIDE)]
    exact = _square_seconds(Sparse("0.0137", "0.613")) / len(cells)
    few = cells[:: len(cells) // _PLAIN_CELLS]
    plain = seconds(lambda: [float_threshold(0.0137, 0.613, *cell) for cell in few]) / len(few)
    return Measurement(
        f"a plain float64 sparse threshold / an exact one, {_SIDE} × {_SIDE} budgets",
        f"{plain / exact:.2f}",
        f"{plain * 1e6:.0f} µs / {exact * 1e6:.0f} µs; the exact square takes {exact * len(cells):.2f} s",
    )


def _large_square() -> Measurement:
    family = Sparse(Fraction(126356789012345679, 2**63 - 25), Fraction(5653874512345678901, 2**63 - 101))
    return Measurement(
        f"seconds for {_SIDE} × {_SIDE} exact sparse thresholds, denominators of 63 bits",
        f"{_square_seconds(family):.2f}",
        "enclosed, since masses have up to 25,000 bits",
    )


def _square_seconds(family: Sparse) -> float:
    budgets: list[Budget] = [{"add": add, "delete": delete} for add in range(_SIDE) for delete in range(_SIDE)]
    return seconds(lambda: thresholds(family, budgets))


def _joint() -> Measurement:
    limits: Budget = {"edges": {"add": 10, "delete": 10}, "attributes": {"add": 10, "delete": 10}}
    start = time.perf_counter()
    found = certified(_GRAPH, "0.9999", limits)
    taken = time.perf_counter() - start
    size = len(found) if isinstance(found, tuple) else 0
    return Measurement(
        "seconds for a joint certificate of four budgets up to 10 each", f"{taken:.2f}", f"{size} largest budgets"
    )


def _decisions() -> Measurement:
    """p is the double next above an exact threshold, or the one below that: one certifies, the other does not."""
    rng = np.random.default_rng(0)
    wrong = unsafe = 0
    for _ in range(_DECISIONS // 2):
        p_add, p_del = int(rng.integers(1, 100)), int(rng.integers(1, 1_000))
        add, delete = (int(count) for count in rng.integers(0, _LARGEST + 1, 2))
        family = Sparse(Fraction(p_add, 1_000), Fraction(p_del, 1_000))
        above = min_p(family, {"add": add, "delete": delete})
        guess = float_threshold(p_add / 1_000, p_del / 1_000, add, delete)
        unsafe += nextafter(above, 0) > guess
        wrong += (nextafter(above, 0) > guess) + (above <= guess)
    return Measurement(
        f"wrong decisions of the float64 version, of {_DECISIONS:,} next to exact thresholds",
        f"{wrong:,}",
        f"{unsafe:,} of them certify what is not certified; the exact version has none by construction",
    )


def _false_certificate() -> Measurement:
    """The joint example of docs/mathematics.md, where a product is taken for ordered."""
    budget: Budget = {"edges": {"add": 1}, "attributes": {"add": 1, "delete": 1}}
    least = rho(_GRAPH, budget, "0.99")
    if not least < HALF or threshold(_GRAPH, budget) < Fraction("0.99"):
        raise SystemExit("the joint example is decided wrong")
    return Measurement(
        "ρ(0.99) of an edge added, an attribute added and one deleted",
        f"{float(least):.4f}",
        f"{float_product_rho(0.99):.4f} if the product of two ordered lists is taken for ordered",
    )


def float_threshold(p_add: float, p_del: float, add: int, delete: int) -> float:
    """ρ⁻¹(1/2) of the sparse noise as one would write it: masses in float64, sorted by their ratio, summed."""
    x = np.convolve(_binomial(add, p_add), _binomial(delete, 1 - p_del)[::-1])
    xbar = np.convolve(_binomial(add, 1 - p_del), _binomial(delete, p_add)[::-1])
    return _invert(x, xbar)


def _invert(x: NDArray[np.float64], xbar: NDArray[np.float64]) -> float:
    order = np.argsort(-x / xbar, kind="stable")
    x, xbar = x[order], xbar[order]
    before = np.concatenate(([0.0], np.cumsum(xbar)))
    place = min(int(np.searchsorted(before, 0.5, side="right")) - 1, len(x) - 1)
    return float(np.sum(x[:place]) + (0.5 - before[place]) * x[place] / xbar[place])


def float_product_rho(p: float) -> float:
    """ρ(p) of the joint example from the regions of both members multiplied in their own order, left unsorted."""
    edges = [(0.01, 0.4), (0.99, 0.6)][::-1]
    added, deleted = [(0.999, 0.8), (0.001, 0.2)], [(0.2, 0.001), (0.8, 0.999)]
    attributes = sorted(
        ((a * c, b * d) for a, b in added for c, d in deleted), key=lambda each: each[0] / each[1], reverse=True
    )
    least = 0.0
    for a, b in edges:
        for c, d in attributes:
            taken = min(p, a * c)
            p -= taken
            least += b * d * taken / (a * c)
    return least


def _binomial(n: int, p: float) -> NDArray[np.float64]:
    return np.array([comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)])
