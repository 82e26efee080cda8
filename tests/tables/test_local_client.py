"""LocalClient: the client without a server."""

import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from oracles.strategies import noises
from oracles.tables import exact_slice

from ellzero.certificates import Discrete, InvalidInput, Votes, plan, radius, radius_from_votes, thresholds
from ellzero.client import Client
from ellzero.tables import LocalClient, Table

BYTES: dict[str, Any] = {"k": 255, "alpha": "0.2", "d": 784}


@pytest.fixture(scope="module")
def local() -> LocalClient:
    return LocalClient()


# A table has no models; to certify one without a server there is `ellzero.smoothing`.
OF_MODELS = {"models", "predict", "certify", "job"}
OF_TABLES = {name for name in vars(Client) if not name.startswith("_")} - OF_MODELS | {"__enter__", "__exit__"}


@pytest.mark.parametrize("method", sorted(OF_TABLES))
def test_it_has_the_clients_methods_of_tables_with_the_same_parameters(method: str) -> None:
    ours, theirs = (inspect.signature(getattr(kind, method)).parameters for kind in (LocalClient, Client))
    assert {name: parameter.kind for name, parameter in ours.items()} == {
        name: parameter.kind for name, parameter in theirs.items()
    }


@given(noise=noises(max_k=300), p=st.fractions(0, 1, max_denominator=10**9), d=st.integers(1, 90))
@settings(deadline=None)
def test_radii_are_those_of_exact_arithmetic(local: LocalClient, noise: Discrete, p: Fraction, d: int) -> None:
    assert local.radius(p, k=noise.k, alpha=noise.alpha, d=d).radius == radius(noise, p, d)


def test_lists_arrays_and_votes(local: LocalClient) -> None:
    noise = Discrete(255, "0.2")
    assert local.radius([0.3, "0.99", Fraction(9, 10)], **BYTES).radii == [None, 3, 2]
    assert local.radius(np.array([[0.3, 0.99]]), **BYTES).radii.tolist() == [[-1, 3]]
    assert local.radius([0.6, 0.7], p_b=["0.1", 0.05], **BYTES).radii == [
        radius(noise, 0.6, 784, "0.1"),
        radius(noise, 0.7, 784, 0.05),
    ]
    arrays = local.radius(np.array([0.6, 0.7]), p_b=np.array([0.1, 0.05]), **BYTES)
    assert arrays.radii.tolist() == [radius(noise, 0.6, 784, 0.1), radius(noise, 0.7, 784, 0.05)]
    assert local.radius(count=990, n=1000, **BYTES).radius == radius_from_votes(noise, Votes(990, 1000), 784)
    assert local.radius(count=[400, 990], n=1000, **BYTES).radii[0] is None
    assert local.radius(count=np.array([400, 990]), n=1000, **BYTES).radii[0] == -1


def test_thresholds_plans_comparisons_and_tables(local: LocalClient) -> None:
    answer = local.thresholds(k=255, alpha="0.2", r_max=3)
    assert [row.threshold for row in answer.rows] == thresholds(Discrete(255, "0.2"), range(4))
    expected = plan(Discrete(255, "0.2"), 3, "0.99")
    assert expected is not None
    assert local.plan(k=255, alpha="0.2", r=3, p="0.99").n == expected.n
    assert local.plan(k=255, alpha="0.2", n=1000, d=784).r == 3
    assert local.compare(alpha="0.8", d=784, p="0.99").gaussian == 1
    assert local.tables().table == "reference"


def test_it_is_used_like_a_client() -> None:
    with LocalClient() as local:
        assert local.health()
        assert local.ready()
        assert local.radius("0.99", **BYTES).radius == 3


def test_a_client_of_another_table(tmp_path: Path) -> None:
    Table.create(str(tmp_path / "table")).append([exact_slice(Discrete(3, "0.7"))])
    local = LocalClient(tmp_path / "table")
    assert local.radius("0.9", k=3, alpha="0.7", d=9).source == "table"
    assert local.radius("0.9", k=4, alpha="0.7", d=9).source == "computed"
    assert [(column.k, column.alpha) for column in local.tables().columns] == [(3, "7/10")]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"p": "0.9", "count": 3, "n": 4},
        {"count": 3},
        {"p": "0.9", "failure": "0.1"},
        {"count": 3, "n": 4, "p_b": "0.1"},
        {"p": "1.5"},
        {"p": []},
        {"p": [0.9], "p_b": [0.1, 0.2]},
        {"p": 0.9, "p_b": [0.1]},
        {"p": np.ones(2), "p_b": np.ones((1, 2))},
        {"p": b"0.99"},
        {"p": [[0.9]]},
        {"p": [np.array(0.9), "0.9"]},
        {"p": [1, True]},
    ],
)
def test_values_that_do_not_go_together_are_refused(local: LocalClient, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        local.radius(**values, **BYTES)
