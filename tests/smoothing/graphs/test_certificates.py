"""The certificates of nodes are those of their votes, one by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ellzero.certificates import Family, InvalidInput, Joint, Sparse, Total, Votes, certified_from_votes, lower_bound
from ellzero.smoothing.graphs import NodeCertificates
from ellzero.smoothing.results import ABSTAIN

FEATURES = Sparse("0.05", "0.6")
BOTH = Joint(edges=Sparse("0.02", "0.4"), features=FEATURES)


def make_certificates(family: Family, rows: list[list[int]], *, simultaneous: bool = False) -> NodeCertificates:
    counts = np.array(rows)
    return NodeCertificates(
        nodes=np.arange(10, 10 + len(rows)),
        selection=np.tile([3, 7, 0], (len(rows), 1)),
        counts=counts,
        failure=Fraction(1, 100),
        simultaneous=simultaneous,
        family=family,
        d=30,
        seed=0,
        noise={},
        seconds=0.0,
    )


@given(st.lists(st.integers(0, 500), min_size=1, max_size=6), st.booleans())
@settings(deadline=None, max_examples=15)
def test_each_node_has_the_certificate_of_its_votes(counts: list[int], simultaneous: bool) -> None:
    certificates = make_certificates(FEATURES, [[500 - k, k, 0] for k in counts], simultaneous=simultaneous)
    failure = Fraction(1, 100) / (len(counts) if simultaneous else 1)
    limits = {"add": 3, "delete": 12}
    for certificate, count, budgets in zip(certificates, counts, certificates.budgets(limits), strict=True):
        votes = Votes(count, 500, failure)
        assert certificate.failure == failure
        assert certificate.budgets(limits) == budgets == certified_from_votes(FEATURES, votes, limits)
        assert certificate.radius == certified_from_votes(Total(FEATURES), votes, 30)
        assert certificate.lower_bound == lower_bound(votes)
        assert certificate.prediction == (1 if budgets is not None else ABSTAIN)
        assert (certificate.selected, certificate.count, certificate.n) == (1, count, 500)
    assert [each.node for each in certificates] == list(range(10, 10 + len(counts)))


def test_a_joint_budget_is_certified_as_a_whole() -> None:
    certificates = make_certificates(BOTH, [[0, 500, 0], [40, 460, 0], [400, 100, 0]])
    limits = {"edges": {"add": 1, "delete": 2}, "features": {"add": 1, "delete": 4}}
    for certificate in certificates:
        votes = Votes(certificate.count, 500, "0.01")
        assert certificate.budgets(limits) == certified_from_votes(BOTH, votes, limits)
        assert certificate.radius == certified_from_votes(Total(BOTH), votes, 30)
    budget = {"edges": {"delete": 1}, "features": {"delete": 2}}
    assert certificates.certifies(budget).tolist() == [
        certified_from_votes(BOTH, Votes(count, 500, "0.01"), budget) == (budget_of(budget),)
        for count in certificates.votes.tolist()
    ]


def budget_of(budget: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {part: {"add": 0, "delete": 0, **budget[part]} for part in ("edges", "features")}


def test_the_accuracy_map_has_the_share_of_nodes_that_are_right_and_certified() -> None:
    certificates = make_certificates(FEATURES, [[0, 500, 0], [20, 480, 0], [300, 200, 0], [3, 497, 0]])
    labels = [1, 1, 1, 0]
    shares = certificates.accuracy_map(labels, {"add": 2, "delete": 9})
    assert shares.shape == (3, 10)
    for add, delete in product(range(3), range(10)):
        budget = {"add": add, "delete": delete}
        right = [
            certified_from_votes(FEATURES, Votes(count, 500, "0.01"), budget) == (budget,)
            for count, label in zip(certificates.votes.tolist(), labels, strict=True)
            if label == 1
        ]
        assert shares[add, delete] == certificates.accuracy(labels, budget) == sum(right) / 4
    assert shares[0, 0] == 0.5
    assert (np.diff(shares, axis=0) <= 0).all()
    assert (np.diff(shares, axis=1) <= 0).all()


def test_staircases_are_the_budgets_in_counts() -> None:
    certificates = make_certificates(FEATURES, [[0, 500, 0], [300, 200, 0]])
    limits = {"add": 2, "delete": 9}
    first, second = certificates.staircases(limits)
    assert tuple(map(FEATURES.write_budget, first)) == certificates.budgets(limits)[0]
    assert second == ()


@pytest.mark.parametrize(
    ("labels", "limits", "message"),
    [
        ([1], {"add": 1}, r"labels must be of shape \(2,\), one for each certified node"),
        ([1, 1], {"add": 10**5, "delete": 10**5}, "limits must be of at most 1,000,000 budgets"),
        ([1, 1], {"flip": 1}, "limits must be a mapping with keys of add, delete"),
        ([1, 1], {"add": -1}, "limits.add must be an integer of at least 0"),
    ],
)
def test_bad_input_is_one_clear_line(labels: list[int], limits: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_certificates(FEATURES, [[0, 500, 0]] * 2).accuracy_map(labels, limits)
