"""The tables of the experiment on MNIST, with the paper's figures beside ours where they are about the same."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Final

from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.experiments.adversary_search import MOST_VOTES
from ellzero.experiments.dataset_runs import CertifiedInputs
from ellzero.experiments.mnist_settings import MnistSettings
from ellzero.experiments.mnist_training import TrainedNetwork
from ellzero.experiments.published import MNIST, MNIST_BEST_ALPHA, MNIST_EXHAUSTIVE, NoiseKind
from ellzero.experiments.result import Cell, Estimate, ResultColumn, ResultTable
from ellzero.smoothing.runs.metrics import Accuracy, Outcome, Report, summarize

R_MAX: Final = 7
_TITLES: Final[Mapping[tuple[NoiseKind, NoiseKind], str]] = {
    ("discrete", "discrete"): "discrete noise, discrete certificate",
    ("discrete", "gaussian"): "the same model, Gaussian certificate",
    ("gaussian", "gaussian"): "Gaussian noise, Gaussian certificate",
}


_GREY_TITLES: Final[Mapping[NoiseKind, str]] = {"discrete": "grey, not a certificate", "gaussian": "grey"}


@dataclass(frozen=True)
class CertifiedRow:
    """A row of the table: a network's noise, its certificate, and what was certified."""

    noise: NoiseKind
    certificate: NoiseKind
    network: TrainedNetwork
    certified: CertifiedInputs
    report: Report

    @property
    def title(self) -> str:
        return _TITLES[self.noise, self.certificate]


def make_accuracy_table(
    rows: Sequence[CertifiedRow], settings: MnistSettings, size: int, *, compare: bool
) -> ResultTable:
    published = {(row.noise, row.certificate): row for row in MNIST} if compare else {}
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        paper = published.get((row.noise, row.certificate))
        mu = estimate_mean(row.report, None if paper is None else paper.mean_radius)
        accuracies = (_estimate(each, {} if paper is None else paper.accuracy) for each in row.report.accuracy[1:])
        cells.append((row.title, mu, *accuracies))
    count = rows[0].report.inputs
    images = "all test images" if count == size else f"{count:,} of {size:,} test images, drawn at random"
    return ResultTable(
        "accuracy",
        "Certified accuracy",
        (ResultColumn("classifier"), ResultColumn("μ(R)", digits=3), *_radius_columns()),
        tuple(cells),
        f"ACC@r on {images}, n = {settings.n:,}, each certificate at {1 - float(DEFAULT_FAILURE):.1%}; "
        "bands of 95 % over images.",
    )


def make_tuning_table(tuned: Mapping[str, Report], settings: MnistSettings) -> ResultTable:
    """μ(R) by the Gaussian certificate for each α."""
    inputs = next(iter(tuned.values())).inputs
    return ResultTable(
        "tuning",
        "α on validation images",
        (
            ResultColumn("α"),
            ResultColumn("μ(R), Gaussian certificate", digits=3),
            *(ResultColumn(f"r = {r}", digits=3) for r in range(R_MAX + 1)),
        ),
        tuple(
            (alpha, estimate_mean(report), *(each.share for each in report.accuracy)) for alpha, report in tuned.items()
        ),
        f"{inputs:,} images that were not trained on, n = {settings.n:,}. The largest μ(R) decides, as in the paper.",
    )


def make_search_table(searched: Sequence[Mapping[str, Any]], row: CertifiedRow, *, compare: bool) -> ResultTable:
    found = summarize([_outcome_of_search(each) for each in searched], 2)
    certified = summarize(row.certified.outcomes[: len(searched)], 2)
    published = MNIST_EXHAUSTIVE if compare else {}
    rows = tuple(
        (
            f"r = {r}",
            _estimate(certified.accuracy[r], {}),
            _estimate(found.accuracy[r], published),
            "every single flip" if r == 1 else "pairs: an empirical upper bound",
        )
        for r in (1, 2)
    )
    without = [each for each in searched if each["adversary"] is None]
    undecided = sum(int(each["undecided"]) for each in without)
    tried = sum(1 + int(each["singles"]) + int(each["pairs"]) for each in without)
    return ResultTable(
        "search",
        "Accuracy under search for adversaries",
        (
            ResultColumn("changes"),
            ResultColumn("certified", digits=3),
            ResultColumn("no adversary found", digits=3),
            ResultColumn("searched"),
        ),
        rows,
        f"The same {len(searched):,} test images. The answer on a changed image is decided by votes; where no "
        f"adversary was found, {undecided:,} of {tried:,} remained undecided after {MOST_VOTES:,} votes.",
    )


def make_grey_table(rows: Sequence[CertifiedRow], grey: Mapping[NoiseKind, Report], *, compare: bool) -> ResultTable:
    """The same images in black and white and in grey levels, for both networks, each by its own certificate."""
    published = {(row.noise, row.certificate): row for row in MNIST} if compare else {}
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        if row.noise != row.certificate:
            continue
        on_grey, paper = grey[row.noise], published.get((row.noise, row.certificate))
        same = summarize(row.certified.outcomes[: on_grey.inputs], R_MAX)
        for title, report in (("binarised", same), (_GREY_TITLES[row.noise], on_grey)):
            accuracies = (_estimate(each, {} if paper is None else paper.accuracy) for each in report.accuracy[1:])
            mu = estimate_mean(report, None if paper is None else paper.mean_radius)
            cells.append((f"{row.title}: {title}", mu, *accuracies))
    count = min(report.inputs for report in grey.values())
    return ResultTable(
        "grey",
        "The protocol of the paper's public code",
        (ResultColumn("test images"), ResultColumn("μ(R)", digits=3), *_radius_columns()),
        tuple(cells),
        f"The public code trains on bits and certifies the same {count:,} images as they are, in grey levels; "
        "thresholds for {0, 1}^d do not cover those. Certificates of Gaussian noise do: they are of any input in "
        "[0, 1]^d.",
    )


def make_run_table(rows: Sequence[CertifiedRow]) -> ResultTable:
    return ResultTable(
        "runs",
        "Runs",
        (
            ResultColumn("classifier"),
            ResultColumn("model, SHA-256"),
            ResultColumn("inputs"),
            ResultColumn("wrong"),
            ResultColumn("abstained"),
            ResultColumn("votes drawn", "percent", 1),
        ),
        tuple(
            (
                row.title,
                row.network.saved.digest[:12],
                row.report.inputs,
                row.report.wrong,
                row.report.abstained,
                row.certified.drawn,
            )
            for row in rows
        ),
    )


def _radius_columns() -> tuple[ResultColumn, ...]:
    return tuple(ResultColumn(f"r = {r}", digits=3) for r in range(1, R_MAX + 1))


def _estimate(accuracy: Accuracy, published: Mapping[int, float]) -> Estimate:
    return Estimate(accuracy.share, accuracy.low, accuracy.high, published.get(accuracy.r))


def estimate_mean(report: Report, paper: float | None = None) -> Estimate:
    """μ(R) with its band of 95 %, without what is below 0: no radius is. No band where all radii are equal: the spread
    of so few says nothing."""
    mean, error = report.mean_radius, report.mean_radius_error
    if not 0 < error < inf:
        return Estimate(mean, paper=paper)
    return Estimate(mean, max(0.0, mean - error), mean + error, paper)


def _outcome_of_search(row: Mapping[str, Any]) -> Outcome:
    """An input whose fewest known changes are k is right up to k − 1 of them, as far as the search shows."""
    changes = 3 if row["adversary"] is None else len(row["adversary"])
    return Outcome(row["label"], -1 if row["wrong"] else row["label"], None if row["wrong"] else changes - 1)


def make_notes(
    tables: Sequence[ResultTable],
    row: CertifiedRow,
    searched: Sequence[Mapping[str, Any]],
    alpha: str,
    *,
    compare: bool,
) -> list[str]:
    contradicted = sum(
        outcome.certified >= len(found["adversary"])
        for outcome, found in zip(row.certified.outcomes, searched, strict=False)
        if found["adversary"] is not None
    )
    notes = [
        (
            f"{contradicted} of the {len(searched):,} searched images have an adversary within their certified radius; "
            f"a certificate may be false with probability {DEFAULT_FAILURE}."
        )
    ]
    if not compare:
        return [*notes, "The paper's figures are left out: this run has other data, another recipe or other votes."]
    if Fraction(alpha) != Fraction(MNIST_BEST_ALPHA):
        reason = f"they are of α = {MNIST_BEST_ALPHA}, and this run's of α = {alpha}"
        return [*notes, f"The paper's figures are left out: {reason}."]
    compared = _list_compared([table for table in tables if table.name != "grey"])
    outside = [name for name, cell in compared.items() if not cell.holds_paper]
    inside = len(compared) - len(outside)
    named = f"; outside: {'; '.join(outside)}" if outside else ""
    notes.append(
        f"{inside} of the paper's {len(compared)} figures lie within our bands{named}. A band has its own figure with "
        "95 %, so that one in twenty outside is no contradiction; and the paper's are of another network, trained by "
        "the same recipe."
    )
    grey = [
        cell
        for name, cell in _list_compared([table for table in tables if table.name == "grey"]).items()
        if name.startswith(f"{_TITLES['gaussian', 'gaussian']}: {_GREY_TITLES['gaussian']},")
    ]
    if grey:
        held = sum(bool(cell.holds_paper) for cell in grey)
        notes.append(
            f"Of the paper's {len(grey)} figures for Gaussian noise {held} lie within our bands on grey images, as the "
            "public code certifies them."
        )
    return notes


def _list_compared(tables: Sequence[ResultTable]) -> dict[str, Estimate]:
    """The cells that stand beside a figure of the paper, by row and column."""
    return {
        f"{cells[0]}, {column.title}": cell
        for table in tables
        for cells in table.rows
        for column, cell in zip(table.columns, cells, strict=True)
        if isinstance(cell, Estimate) and cell.paper is not None
    }
