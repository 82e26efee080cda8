"""The tables of the experiment on graphs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt

from ellzero.certificates import CollectiveCertificate, Joint, Votes, lower_bound, upper_bound
from ellzero.certificates.families.base import Budget, Counts
from ellzero.experiments.graph_data import GraphData
from ellzero.experiments.graph_float_certificates import float_least_count
from ellzero.experiments.graph_settings import LIMITS, NOISES, GraphSettings
from ellzero.experiments.result import Cell, Estimate, ResultColumn, ResultTable
from ellzero.smoothing.graphs import NodeCertificates

_TAIL: Final = Fraction(25, 1000)  # on each side of a band of 95 %
_UNCHANGED: Final = {"edges": {"add": 0, "delete": 0}, "features": {"add": 0, "delete": 0}}


@dataclass(frozen=True)
class CertifiedGraph:
    """The test nodes of a graph under a noise: ``alone`` each certificate has the failure probability by itself,
    ``together`` all of them share it."""

    data: GraphData
    noise: str
    training: npt.NDArray[np.int64]
    alone: NodeCertificates
    together: NodeCertificates
    labels: npt.NDArray[np.int64]

    @property
    def title(self) -> str:
        return f"{self.data.name}, noise on {'features and edges' if self.noise == 'both' else self.noise}"

    @property
    def right(self) -> npt.NDArray[np.bool_]:
        """Which test nodes have their own class selected."""
        right: npt.NDArray[np.bool_] = self.alone.selected == self.labels
        return right

    def accuracy(self, budget: Budget) -> Estimate:
        """ACC@budget with its band of 95 %, over nodes like these."""
        return estimate_share(int((self.alone.certifies(budget) & self.right).sum()), len(self.labels))


@dataclass(frozen=True)
class FloatComparison:
    """Node and budget pairs within limits: what exact certificates prove, and what float ones claim beyond or miss."""

    budgets: int
    proved: int
    unproved: int
    missed: int
    worst: Budget | None
    """The budget with most unproved claims."""


def estimate_share(count: int, size: int) -> Estimate:
    """A share with its band by Clopper and Pearson."""
    votes = Votes(count, size, _TAIL)
    return Estimate(count / size, lower_bound(votes), upper_bound(votes))


def make_overview_table(certified: Sequence[CertifiedGraph]) -> ResultTable:
    columns = (
        ResultColumn("graph and noise"),
        ResultColumn("nodes"),
        ResultColumn("edges"),
        ResultColumn("features of a node"),
        ResultColumn("trained on"),
        ResultColumn("tested"),
        ResultColumn("right", digits=3),
        ResultColumn("right and certified for no change", digits=3),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            each.title,
            each.data.graph.nodes,
            len(each.data.graph.edges.places),
            each.data.graph.columns,
            len(each.training),
            len(each.labels),
            estimate_share(int(each.right.sum()), len(each.labels)),
            each.accuracy(_UNCHANGED if each.noise == "both" else {}),
        )
        for each in certified
    ]
    return ResultTable("overview", "Graphs and networks", columns, tuple(rows), "Bands of 95 % over nodes.")


def make_accuracy_tables(certified: Sequence[CertifiedGraph]) -> Iterator[ResultTable]:
    """ACC@(r_add, r_delete) of each graph under noise of one kind, as far as any node is certified."""
    for each in certified:
        if each.noise == "both":
            continue
        adds, deletes = (range(most + 1) for most in each.alone.family.read_budget(LIMITS[each.noise]))
        cells = {(add, delete): each.accuracy({"add": add, "delete": delete}) for add, delete in product(adds, deletes)}
        shown = [delete for delete in deletes if any(cells[add, delete].value for add in adds)]
        yield ResultTable(
            f"{each.data.name.lower()}-{each.noise}",
            f"Certified accuracy: {each.title}",
            (ResultColumn("deleted, up to"), *(ResultColumn(f"{add} added", digits=3) for add in adds)),
            tuple((delete, *(cells[add, delete] for add in adds)) for delete in shown or [0]),
            f"ACC@(added, deleted) on {len(each.labels):,} test nodes; each certificate at "
            f"{1 - float(each.alone.node_failure):.1%}; bands of 95 % over nodes.",
        )


def compare_floats(certified: CertifiedGraph) -> FloatComparison:
    """The exact and the float certificate of the same votes, for every budget within the limits."""
    certificates = certified.alone
    family, n, failure = certificates.family, certificates.n, float(certificates.node_failure)
    most = family.read_budget(LIMITS[certified.noise])
    budgets = proved = unproved = missed = 0
    worst: tuple[int, Counts] = (0, most)
    for counts in product(*(range(limit + 1) for limit in most)):
        exact = certificates.certifies(family.write_budget(counts))
        claimed = certificates.votes >= float_least_count(family, counts, n, failure)
        excess = int((claimed & ~exact).sum())
        budgets, proved, unproved = budgets + 1, proved + int(exact.sum()), unproved + excess
        missed += int((exact & ~claimed).sum())
        worst = max(worst, (excess, counts), key=lambda pair: pair[0])
    return FloatComparison(budgets, proved, unproved, missed, family.write_budget(worst[1]) if worst[0] else None)


def make_float_table(certified: Sequence[CertifiedGraph]) -> ResultTable:
    columns = (
        ResultColumn("graph and noise"),
        ResultColumn("budgets"),
        ResultColumn("pairs of node and budget that are proved"),
        ResultColumn("claimed by float code, not proved"),
        ResultColumn("proved, missed by float code"),
        ResultColumn("most unproved claims at"),
    )
    rows: list[tuple[Cell, ...]] = []
    for each in certified:
        found = compare_floats(each)
        where = None if found.worst is None else str(found.worst).replace("'", "")
        rows.append((each.title, found.budgets, found.proved, found.unproved, found.missed, where))
    return ResultTable(
        "float",
        "Exact certificates and those of float code, for the same votes",
        columns,
        tuple(rows),
        "Every test node with every budget within the limits. Float code: float64 regions and quantiles as public code "
        "has them; for features and edges together, regions in the order of two multiplied lists.",
    )


def make_collective_table(
    collective: Sequence[tuple[CertifiedGraph, Sequence[CollectiveCertificate]]],
) -> ResultTable:
    columns = (
        ResultColumn("graph"),
        ResultColumn("features added in all"),
        ResultColumn("features deleted in all"),
        ResultColumn("right"),
        ResultColumn("certified alone"),
        ResultColumn("certified collectively"),
        ResultColumn("share of the right ones, alone", "percent", 1, "down"),
        ResultColumn("share, collectively", "percent", 1, "down"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            certified.data.name,
            *each.budget,
            each.predictions,
            each.certified_alone,
            each.certified,
            Fraction(each.certified_alone, each.predictions),
            Fraction(each.certified, each.predictions),
        )
        for certified, certificates in collective
        for each in certificates
    ]
    return ResultTable(
        "collective",
        "One adversary against all test nodes",
        columns,
        tuple(rows),
        "Noise on features. Of the test nodes that are right, how many keep their class at once whatever one adversary "
        "changes within the budget anywhere in the graph. All certificates hold together with the probability that one "
        "has in the other tables.",
    )


def make_notes(certified: Sequence[CertifiedGraph], settings: GraphSettings) -> list[str]:
    notes = [
        f"{settings.n0:,} noisy graphs chose the class of every node, and {settings.n:,} others bound its probability.",
        (
            f"Split by seed {settings.seed}: {settings.per_class} nodes of each class to train on, all others to test; "
            f"{settings.recipe.epochs} epochs, and no part to validate on."
        ),
        *(f"Noise on {name}: {NOISES[name].family}." for name in settings.noises),
    ]
    if any(isinstance(each.alone.family, Joint) for each in certified):
        notes.append("Budgets of features and edges together are those of one joint certificate.")
    return notes
