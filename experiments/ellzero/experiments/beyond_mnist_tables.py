"""The tables of the experiment beyond the paper on MNIST."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.experiments.beyond_mnist_settings import BeyondRow, BeyondSettings
from ellzero.experiments.dataset_runs import CertifiedInputs
from ellzero.experiments.estimates import estimate_mean
from ellzero.experiments.mnist_training import TrainedNetwork
from ellzero.experiments.published import ABLATION_MNIST_MEDIAN, MNIST
from ellzero.experiments.result import Cell, Estimate, ResultColumn, ResultTable
from ellzero.smoothing.runs.metrics import Report

TABLE_ONE: Final = "Table 1: discrete noise and certificate"
RADII: Final = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)
_LEAST_IMAGES: Final = 6  # 2⁻⁶ is below 2.5 %, and 2⁻⁵ is not
_TITLES: Final[Mapping[BeyondRow, str]] = {
    BeyondRow.MEAN: "binarised, two classes",
    BeyondRow.MEDIAN: "binarised, two classes",
    BeyondRow.PAPER_NETWORK: "binarised, two classes, the paper's network and recipe",
    BeyondRow.ABLATION: "grey, one class, as randomized ablation",
    BeyondRow.GREY: "grey, two classes",
    BeyondRow.GREY_MORE_VOTES: "grey, two classes, more votes",
}


@dataclass(frozen=True)
class RowResult:
    """A row: how many pixels are shown, how many votes there are at most, the network, and what was certified."""

    row: BeyondRow
    keep: int
    n: int
    network: TrainedNetwork
    certified: CertifiedInputs
    report: Report

    @property
    def title(self) -> str:
        return f"{self.keep} shown: {_TITLES[self.row]}"

    @property
    def is_grey(self) -> bool:
        return self.row in (BeyondRow.ABLATION, BeyondRow.GREY, BeyondRow.GREY_MORE_VOTES)


def make_radius_table(
    results: Sequence[RowResult], table_one: Sequence[Estimate] | None, size: int, *, compare: bool
) -> ResultTable:
    """μ(R), the median and ACC@r of each row, below the first row of Table 1 as another experiment found it."""
    rows: list[tuple[Cell, ...]] = []
    if table_one is not None:
        mean, *shares = table_one
        by_radius = dict(enumerate(shares, 1))
        rows.append((TABLE_ONE, None, mean, None, *(by_radius.get(r) for r in RADII)))
    for each in results:
        published = ABLATION_MNIST_MEDIAN if compare and each.is_grey else None
        paper = MNIST[0].mean_radius if compare and not each.is_grey else None
        rows.append(
            (
                each.title,
                each.n,
                estimate_mean(each.report, paper),
                estimate_median(each.report, published),
                *(_estimate_share(each.report, r) for r in RADII),
            )
        )
    count = results[0].report.inputs
    images = "all test images" if count == size else f"{count:,} of {size:,} test images, drawn at random"
    return ResultTable(
        "radii",
        "Certified radii",
        (
            ResultColumn("classifier"),
            ResultColumn("n"),
            ResultColumn("μ(R)", digits=3),
            ResultColumn("median"),
            *(ResultColumn(f"r = {r}", digits=3) for r in RADII),
        ),
        tuple(rows),
        f"ACC@r on {images}; each certificate at {1 - float(DEFAULT_FAILURE):.1%}; bands of 95 % over images. Radii "
        "are numbers of changed pixels. The median is the largest radius to which at least half of the images are "
        "certified and right. “Paper” is the μ(R) of Table 1 for binarised images, and the median of randomized "
        "ablation for grey ones.",
    )


def estimate_median(report: Report, published: int | None = None) -> Estimate:
    """The largest r with ACC@r ≥ 1/2, with a band of 95 %; of what is below 0, an answer that is not right, 0.

    The median of all images is at least r iff ACC@r of all images is at least 1/2: the band ends below with the last r
    whose own band is above 1/2, and above with the last whose band contains 1/2. Fewer than six images have no band:
    not even a radius that none of them reaches would be refuted.
    """
    shares = [(each.r, each.share, each.low, each.high) for each in report.accuracy]
    middle, low, high = (max((each[0] for each in shares if each[end] >= 0.5), default=0) for end in (1, 2, 3))
    if report.inputs < _LEAST_IMAGES:
        return Estimate(middle, paper=published)
    return Estimate(middle, low, high, published)


def make_keep_table(tuned: Mapping[int, Report], settings: BeyondSettings) -> ResultTable:
    """μ(R) on validation images for each number of pixels shown."""
    images = next(iter(tuned.values())).inputs
    rows = tuple((keep, estimate_mean(report), estimate_median(report)) for keep, report in tuned.items())
    return ResultTable(
        "keeps",
        "Pixels shown, on validation images",
        (ResultColumn("pixels shown"), ResultColumn("μ(R)", digits=3), ResultColumn("median")),
        rows,
        f"{images:,} binarised images that were not trained on, n = {settings.tuning_n:,}. "
        "The largest μ(R) decides for the first row, the largest median for the next and for grey images.",
    )


def make_network_table(results: Sequence[RowResult]) -> ResultTable:
    """What each row's network is, and what its certificates took."""
    rows = []
    for each in results:
        saved = each.network.saved
        weights = sum(weight.numel() for weight in saved.network.parameters())
        recipe = saved.card.training
        epochs, copies = int(recipe["epochs"]), int(recipe.get("copies", 1))
        rows.append(
            (
                each.title,
                saved.card.architecture,
                weights,
                epochs,
                copies,
                saved.digest[:12],
                each.report.inputs,
                each.report.wrong,
                each.report.abstained,
                each.certified.drawn,
            )
        )
    return ResultTable(
        "networks",
        "Networks and votes",
        (
            ResultColumn("classifier"),
            ResultColumn("network"),
            ResultColumn("weights"),
            ResultColumn("epochs"),
            ResultColumn("noisy copies"),
            ResultColumn("model, SHA-256"),
            ResultColumn("inputs"),
            ResultColumn("wrong"),
            ResultColumn("abstained"),
            ResultColumn("votes drawn", "percent", 1),
        ),
        tuple(rows),
    )


def make_beyond_notes(results: Sequence[RowResult], *, compare: bool) -> list[str]:
    """Whether the published figures are exceeded, by the whole band or by the estimate alone."""
    if not compare:
        return ["Published figures are left out: this run has other data."]
    notes = []
    for each in results:
        median = estimate_median(each.report)
        if each.is_grey:
            comparison = _compare(median, ABLATION_MNIST_MEDIAN)
            notes.append(
                f"{each.title}: the median radius is {comparison} {ABLATION_MNIST_MEDIAN}, that of randomized ablation."
            )
        else:
            mean = MNIST[0].mean_radius
            if mean is None:
                raise TypeError(MNIST[0])
            notes.append(
                f"{each.title}: μ(R) is {_compare(estimate_mean(each.report), mean)} {mean}, the paper's; the median "
                f"radius is {_compare(median, ABLATION_MNIST_MEDIAN)} {ABLATION_MNIST_MEDIAN}."
            )
    return notes


def _compare(ours: Estimate, published: float) -> str:
    """Where our figure and its band are from a published one."""
    if ours.value is None or ours.low is None or ours.high is None:
        return "without a band to compare with"
    if ours.low > published:
        return "with its whole band above"
    if ours.high < published:
        return "with its whole band below"
    side = "above" if ours.value > published else "equal to" if ours.value == published else "below"
    return f"{side}, with a band that contains,"


def _estimate_share(report: Report, r: int) -> Estimate:
    """ACC@r; beyond the largest radius of all nothing is certified, with the band of the radius after it."""
    if r < len(report.accuracy):
        each = report.accuracy[r]
        return Estimate(each.share, each.low, each.high)
    return Estimate(0.0)
