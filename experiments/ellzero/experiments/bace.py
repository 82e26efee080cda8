"""The paper's experiment on trees: guaranteed AUC against the share of manipulated molecules, and two gaps."""

import io
from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import numpy as np
from sklearn.datasets import load_breast_cancer

from ellzero.core.errors import BadResults
from ellzero.core.text import format_seconds
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.published import BACE_GAPS
from ellzero.experiments.result import Cell, Estimate, ExperimentResult, ResultColumn, ResultTable
from ellzero.trees.bace import (
    GAP_RADII,
    PAPER_ALPHA,
    PAPER_DEPTH,
    RADII,
    SHARES,
    AucPoint,
    BaceResult,
    run_bace,
)
from ellzero.trees.data import BinaryDataSource
from ellzero.trees.drawing import plot_bace

NAME: Final = "bace"
FILE: Final = "bace.csv"
_LABEL, _SMILES = "Class", "mol"
_PRINTED = tuple(Fraction(percent, 100) for percent in (0, 5, 10, 25, 50, 100))
_QUICK_SHARES = tuple(Fraction(percent, 100) for percent in (0, 25, 100))
_QUICK_SECONDS = 0.2
_POINTS = "aucs.json"
_QUICK_DATA = "breast-cancer.npz"
_FIGURE = "bace.svg"


def find_data(folder: Path, split: str, seed: int) -> BinaryDataSource:
    """The file of BACE in a folder."""
    return BinaryDataSource(str(folder / FILE), _LABEL, _SMILES, split, "train", seed)


def write_quick_data(folder: ExperimentFolder, seed: int) -> BinaryDataSource:
    """A data set that needs no download, in the experiment's folder.

    The breast cancer data of scikit-learn, a bit for each feature: whether it is above its median.
    """
    data = load_breast_cancer()
    content = io.BytesIO()
    np.savez(content, x=(data.data > np.median(data.data, axis=0)).astype(np.uint8), y=data.target)
    path = folder.subfolder("data") / _QUICK_DATA
    path.write_bytes(content.getvalue())
    return BinaryDataSource(str(path), "y", None, "random", "train", seed)


def run_experiment(
    folder: ExperimentFolder, source: BinaryDataSource, time_limit: float, *, quick: bool = False
) -> ExperimentResult:
    """Train, certify and draw. Every AUC is kept in the folder at once, so that a run that was stopped resumes."""
    shares = _QUICK_SHARES if quick else SHARES
    time_limit = min(time_limit, _QUICK_SECONDS) if quick else time_limit
    digests = {part: replace(source, part=part).load().digest for part in ("train", "validation", "test")}
    split = {"split": source.split} | ({"seed": source.seed} if source.split == "random" else {})
    config = {
        "data": {"name": Path(source.uri).name, **split, "sha256": digests},
        "shares": [str(share) for share in shares],
        "seconds_an_auc": time_limit,
    }
    folder.begin(NAME, config)
    count = len(RADII) * len(shares) * 4
    folder.log(f"{count} AUCs, each after at most {format_seconds(time_limit)} of search")
    result = run_bace(source, time_limit, shares, folder.log, _KeptPoints(folder))
    plot_bace(result, folder.path / _FIGURE)
    tables = [_list_gaps(result), _list_curves(result), _list_classifiers(result)]
    exact = {each.name: sum(point.attained == point.guaranteed for point in each.curve) for each in result.classifiers}
    points = len(result.classifiers[0].curve)
    notes = [
        f"{result.split} split: {' / '.join(map(str, result.sizes))} inputs to train, validate and test.",
        "AUCs that are exact, since the search ended by a proof: "
        + "; ".join(f"{number} of {points} for the {name}" for name, number in exact.items())
        + ".",
    ]
    values = {
        "gaps": {str(r): gap for r, gap in result.gaps.items()},
        "gaps_with_the_papers_parameters": {str(r): gap for r, gap in result.paper_gaps.items()},
        "exact_aucs": exact,
    }
    return folder.finish(tables, values, notes, [_FIGURE])


class _KeptPoints(MutableMapping[str, AucPoint]):
    """The AUCs in a file of the experiment's folder, written whenever one is added."""

    def __init__(self, folder: ExperimentFolder) -> None:
        self._folder = folder
        self._points: dict[str, Any] = folder.read_json(_POINTS) or {}

    def __getitem__(self, key: str) -> AucPoint:
        kept = self._points[key]
        try:
            r, share, guaranteed, attained = kept
            return AucPoint(int(r), Fraction(share), Fraction(guaranteed), Fraction(attained))
        except (ArithmeticError, TypeError, ValueError) as error:
            raise BadResults(str(self._folder.path / _POINTS), "is damaged") from error

    def __setitem__(self, key: str, point: AucPoint) -> None:
        self._points[key] = [point.r, *map(str, (point.share, point.guaranteed, point.attained))]
        self._folder.write_json(_POINTS, self._points)

    def __delitem__(self, key: str) -> None:
        del self._points[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)


def _list_gaps(result: BaceResult) -> ResultTable:
    columns = (
        ResultColumn("r"),
        ResultColumn("the tree tuned here", digits=3),
        ResultColumn(f"with the paper's α = {PAPER_ALPHA}, depth {PAPER_DEPTH}", digits=3),
    )
    paper = {r: BACE_GAPS[r] if result.data == FILE else None for r in GAP_RADII}
    rows: list[tuple[Cell, ...]] = [
        (r, Estimate(result.gaps[r]), Estimate(result.paper_gaps[r], paper=paper[r])) for r in GAP_RADII
    ]
    return ResultTable(
        "gaps",
        "Gap between the exact certificate of the tree and the one for all classifiers",
        columns,
        tuple(rows),
        "The mean, over the training set, of the least probability of an input's class for this tree minus the least "
        "for any classifier with the same probability at the input.",
    )


def _list_curves(result: BaceResult) -> ResultTable:
    shares = {point.share for point in result.classifiers[0].curve}
    printed = [share for share in _PRINTED if share in shares]
    columns = (
        ResultColumn("classifier"),
        ResultColumn("r"),
        *(ResultColumn(f"{float(share):.0%}", digits=3, rounding="down") for share in printed),
        ResultColumn("largest open gap", digits=3, rounding="up"),
    )
    rows: list[tuple[Cell, ...]] = []
    for classifier in result.classifiers:
        for r in RADII:
            points = {point.share: point for point in classifier.curve if point.r == r}
            gap = max(point.attained - point.guaranteed for point in points.values())
            rows.append((classifier.name, r, *(points[share].guaranteed for share in printed), gap))
    return ResultTable(
        "auc",
        "Guaranteed AUC by the share of manipulated test inputs",
        columns,
        tuple(rows),
        "At most r bits changed in each manipulated input; rounded down. Open gap: what the time left between the "
        "guarantee and the best attack found, so that the true worst case may be higher by at most that.",
    )


def _list_classifiers(result: BaceResult) -> ResultTable:
    columns = (
        ResultColumn("classifier"),
        ResultColumn("parameters"),
        ResultColumn("AUC on validation", digits=3),
        ResultColumn("AUC on test", digits=3),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            each.name,
            ", ".join(f"{name} {value}" for name, value in each.parameters.items()),
            each.validation_auc,
            each.test_auc,
        )
        for each in result.classifiers
    ]
    caption = "The parameters are those with the largest AUC on the validation part."
    return ResultTable("classifiers", "Classifiers", columns, tuple(rows), caption)
