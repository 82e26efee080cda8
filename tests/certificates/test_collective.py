"""One adversary against all predictions: the bound holds against every way to spend the budget."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize, sparse

from ellzero.certificates import InvalidInput, certify_collectively
from ellzero.certificates.collective import Relaxation, find_uncertified
from ellzero.certificates.families.base import Counts
from ellzero.core.install_hint import install_hint

Staircases = list[list[Counts]]


@st.composite
def problems(draw: st.DrawFn, kinds: int | None = None) -> tuple[Staircases, np.ndarray, Counts, np.ndarray]:
    """A few predictions and nodes, with budgets small enough to try all ways to spend them."""
    kinds = draw(st.integers(1, 2)) if kinds is None else kinds
    predictions, nodes = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    box = tuple(draw(st.integers(0, 4 // kinds)) for _ in range(kinds))
    corners = st.tuples(*[st.integers(0, 4)] * kinds)
    staircases = [draw(st.lists(corners, max_size=3)) for _ in range(predictions)]
    fields = np.array(draw(st.lists(st.booleans(), min_size=predictions * nodes, max_size=predictions * nodes)))
    capacities = np.array(
        draw(st.lists(st.integers(0, 4), min_size=nodes * kinds, max_size=nodes * kinds)), dtype=np.int64
    ).reshape(nodes, kinds)
    return staircases, fields.reshape(predictions, nodes), box, capacities


def is_certified(spent: Sequence[int], staircase: list[Counts]) -> bool:
    return any(all(a <= b for a, b in zip(spent, corner, strict=True)) for corner in staircase)


def most_changed(staircases: Staircases, fields: np.ndarray, box: Counts, capacities: np.ndarray) -> int:
    """How many predictions an adversary changes at most, if all change whose certificates allow it: try everything."""
    spendings = [
        [each for each in product(*(range(min(most, cap) + 1) for cap in capacities[:, kind])) if sum(each) <= most]
        for kind, most in enumerate(box)
    ]
    return max(
        sum(
            not is_certified([int(row @ np.array(kind)) for kind in spending], staircase)
            for row, staircase in zip(fields.astype(int), staircases, strict=True)
        )
        for spending in product(*spendings)
    )


@given(problems())
@settings(deadline=None, max_examples=150)
def test_no_adversary_changes_more_than_the_bound(problem: tuple) -> None:  # type: ignore[type-arg]
    staircases, fields, box, capacities = problem
    certificate = certify_collectively(staircases, fields, box, capacities)
    truth = most_changed(staircases, fields, box, capacities)
    assert certificate.changeable >= truth
    assert certificate.certified_alone <= certificate.certified <= certificate.predictions == len(staircases)
    unlimited = certify_collectively(staircases, fields, box)
    assert unlimited.certified <= certificate.certified


@given(problems(), st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=10, max_size=10))
@settings(deadline=None, max_examples=100)
def test_a_bound_holds_whatever_a_solver_proposes(problem: tuple, numbers: list[float]) -> None:  # type: ignore[type-arg]
    staircases, fields, box, capacities = problem
    points = [find_uncertified(staircase, box) for staircase in staircases]
    places = [place for place, each in enumerate(points) if each]
    if not places:
        return
    relaxation = Relaxation(
        sparse.csr_array(fields[places].astype(np.int64)), [points[place] for place in places], box, capacities
    )
    multipliers = np.resize(np.array(numbers), (len(places), len(box)))
    assert relaxation.bound(multipliers) >= most_changed(staircases, fields, box, capacities)


@given(problems(kinds=1))
@settings(deadline=None, max_examples=60)
def test_it_is_the_relaxation_of_the_integer_program(problem: tuple) -> None:  # type: ignore[type-arg]
    """Written down once more, with variables for every prediction, and solved in integers and in reals."""
    staircases, fields, (most,), capacities = problem
    predictions, nodes = fields.shape
    needs = [max((corner[0] for corner in staircase), default=-1) + 1 for staircase in staircases]
    needed = np.array([need if need <= most else most + 1 for need in needs])
    rows = [
        optimize.LinearConstraint(np.hstack([np.diag(needed), -fields.astype(float)]), ub=np.zeros(predictions)),
        optimize.LinearConstraint(np.hstack([np.zeros(predictions), np.ones(nodes)])[None], ub=[most]),
    ]
    costs = -np.hstack([np.ones(predictions), np.zeros(nodes)])
    reachable = fields.astype(int) @ np.minimum(capacities[:, 0], most) >= needed
    bounds = optimize.Bounds(
        0, np.hstack([(reachable & (needed <= most)).astype(float), np.minimum(capacities[:, 0], most)])
    )
    values = {
        kind: -optimize.milp(costs, constraints=rows, bounds=bounds, integrality=np.full(predictions + nodes, kind)).fun
        for kind in (0, 1)
    }
    changeable = certify_collectively(staircases, fields, (most,), capacities).changeable
    assert round(values[1]) <= changeable
    assert changeable == np.floor(values[0] + 1e-6)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=5))
def test_uncertified_budgets_are_those_at_least_one_of_the_points(staircase: list[Counts]) -> None:
    box = (3, 4, 2)
    points = find_uncertified(staircase, box)
    for budget in product(*(range(most + 1) for most in box)):
        beyond = any(all(a >= b for a, b in zip(budget, point, strict=True)) for point in points)
        assert beyond is not is_certified(budget, staircase)


def test_a_change_counts_where_it_is_seen_only() -> None:
    """Three nodes that see only themselves: one change changes one of them, whichever it is."""
    staircases: Staircases = [[(0, 0)]] * 3
    assert certify_collectively(staircases, np.eye(3), (1, 0)).certified == 2
    assert certify_collectively(staircases, np.ones((3, 3)), (1, 0)).certified == 0
    assert certify_collectively(staircases, np.eye(3), (1, 1)).certified == 1
    assert certify_collectively(staircases, np.eye(3), (9, 9), np.zeros((3, 2), int)).certified == 3


def test_a_prediction_that_abstains_is_changeable_without_a_change() -> None:
    certificate = certify_collectively([[], [(2,)]], np.eye(2), (0,))
    assert (certificate.certified, certificate.certified_alone) == (1, 1)


@pytest.mark.parametrize(
    ("staircases", "fields", "budget", "capacities", "message"),
    [
        ([[(1,)]], np.eye(2), (1,), None, "fields must be a matrix with 1 rows, one for each prediction"),
        ([[(1, 1)], []], np.eye(2), (1,), None, "staircases must be of budgets of 1 kinds"),
        ([[(1,)], []], np.eye(2), (-1,), None, "budget must be an integer from 0"),
        ([[(1,)], []], np.eye(2), (1,), [[1]], r"capacities must be integers of at least 0 of shape \(2, 1\)"),
        ([[(1,)], []], np.eye(2), (1,), [[1], [-1]], "capacities must be integers of at least 0"),
    ],
)
def test_bad_input_is_one_clear_line(  # type: ignore[no-untyped-def]
    staircases, fields, budget, capacities, message
) -> None:
    with pytest.raises(InvalidInput, match=message) as raised:
        certify_collectively(staircases, fields, budget, capacities)
    assert "\n" not in str(raised.value)


def test_without_scipy_it_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['scipy'] = None; import ellzero.certificates as c; c.certify_collectively"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    message = f"a collective certificate needs the Python module scipy: {install_hint('graphs')}"
    assert done.stderr.splitlines()[-1].endswith(message)
