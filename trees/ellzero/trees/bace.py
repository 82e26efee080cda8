"""The paper's experiment on BACE (section 5.3): the AUC that smoothed trees guarantee, against manipulated molecules.

Each classifier's parameters are those with the largest AUC on the validation part. Then, for r = 1, 2, 3 changed bits a
molecule and each share of manipulated molecules of the test part, `adversarial_auc` bounds the AUC.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Final

from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from ellzero.trees.auc import adversarial_auc
from ellzero.trees.comparison import compare_with_agnostic
from ellzero.trees.data import PARTS, BinaryData, BinaryDataSource
from ellzero.trees.errors import UnreadableFile
from ellzero.trees.estimators import SmoothedForestClassifier, SmoothedTreeClassifier
from ellzero.trees.plain import greedy_adversary, plain_probability_bounds

ALPHAS: Final = ("0.7", "0.75", "0.8", "0.85", "0.9")
DEPTHS: Final = (6, 7, 8, 9, 10)
# Trees and their depth, such that 1,024 bits suffice for all of them.
FORESTS: Final = ((8, 6), (16, 5), (16, 6), (32, 4), (32, 5), (64, 3), (64, 4))
RADII: Final = (1, 2, 3)
SHARES: Final = tuple(Fraction(twentieth, 20) for twentieth in range(21))
GAP_RADII: Final = (1, 2)
"""Those of which Lee et al. 2019 report the mean gap between the two certificates on their training set."""
PAPER_ALPHA, PAPER_DEPTH = "0.8", 10
"""The parameters of their tree, tuned on a validation set that need not be this one."""

Scores = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


@dataclass(frozen=True)
class AucPoint:
    """The AUC of one classifier with a share of the test molecules manipulated, by r bits each."""

    r: int
    share: Fraction
    guaranteed: Fraction
    attained: Fraction


@dataclass(frozen=True)
class ClassifierResult:
    """One classifier: its parameters, its AUC on validation and test part, and its curve."""

    name: str
    parameters: Mapping[str, Any]
    validation_auc: float
    test_auc: Fraction
    curve: tuple[AucPoint, ...]


@dataclass(frozen=True)
class BaceResult:
    """All classifiers on one split.

    ``gaps`` are the mean gaps between the two certificates of the tree on its training part, for r = 1 and 2;
    ``paper_gaps`` those of a tree with the paper's parameters, α = 0.8 and depth 10.
    """

    data: str
    split: str
    sizes: tuple[int, int, int]
    classifiers: tuple[ClassifierResult, ...]
    gaps: Mapping[int, float]
    paper_gaps: Mapping[int, float]


def run_bace(
    source: BinaryDataSource,
    time_limit: float = 10,
    shares: Iterable[Fraction] = SHARES,
    on_step: Callable[[str], None] = lambda step: None,
    known: MutableMapping[str, AucPoint] | None = None,
) -> BaceResult:
    """Run the experiment on one split of BACE, or of any data of the same kind.

    ``time_limit`` is for each AUC, of which there are 3 radii × shares × 4 classifiers; ``on_step`` hears what begins.
    ``known`` keeps each AUC by what decides it, so that a run that is given them again does not repeat them.
    """
    train, validation, test = (_load_part(source, part) for part in PARTS)
    shares = tuple(shares)
    known = {} if known is None else known

    def measure(name: str, tuned: "_Tuned", scores: list[Scores]) -> ClassifierResult:
        on_step(f"{name}: AUC")
        points = []
        for (r, bounds), share in product(zip(RADII, scores, strict=True), shares):
            key = f"{name}, r = {r}, share {share}, {_digest(test.labels, *bounds)}"
            if key not in known:
                result = adversarial_auc(test.labels, *bounds, share, time_limit)
                known[key] = AucPoint(r, share, result.guaranteed, result.attained)
            points.append(known[key])
        clean = adversarial_auc(test.labels, *scores[0], 0, time_limit).clean
        return ClassifierResult(name, tuned.parameters, tuned.auc, clean, tuple(points))

    results, models = [], dict[str, Any]()
    smoothed = {
        "smoothed tree": [
            ({"alpha": alpha, "max_depth": depth}, SmoothedTreeClassifier(alpha, depth))
            for alpha, depth in product(ALPHAS, DEPTHS)
        ],
        "smoothed forest": [
            ({"alpha": alpha, "n_trees": trees, "max_depth": depth}, SmoothedForestClassifier(trees, alpha, depth))
            for alpha, (trees, depth) in product(ALPHAS, FORESTS)
        ],
    }
    for name, candidates in smoothed.items():
        on_step(f"{name}: training")
        tuned = _tune(candidates, train, validation)
        low, high = tuned.model.probability_bounds(test.features, max(RADII), exact=True)
        results.append(measure(name, tuned, [(low[:, 0], low[:, r], high[:, r]) for r in RADII]))
        models[name] = tuned.model
    on_step("certificate for all classifiers")
    gaps = _gaps(models["smoothed tree"], train)
    paper_gaps = _gaps(SmoothedTreeClassifier(PAPER_ALPHA, PAPER_DEPTH).fit(train.features, train.labels), train)
    on_step("vanilla tree: training")
    plain = [({"max_depth": depth}, DecisionTreeClassifier(max_depth=depth, random_state=0)) for depth in DEPTHS]
    tuned = _tune(plain, train, validation)
    low, high = plain_probability_bounds(tuned.model, test.features, max(RADII))
    exact = [(low[:, 0], low[:, r], high[:, r]) for r in RADII]
    greedy = [_greedy_scores(tuned.model, test, r) for r in RADII]
    results.append(measure("vanilla tree", tuned, exact))
    results.append(measure("vanilla tree, greedy adversary", tuned, greedy))
    sizes = (len(train.labels), len(validation.labels), len(test.labels))
    return BaceResult(test.name, source.split, sizes, tuple(results), gaps, paper_gaps)


def _load_part(source: BinaryDataSource, part: str) -> BinaryData:
    """A part of the data with its two classes: small data can end with one, which has no AUC."""
    data = replace(source, part=part).load()
    if (classes := len(set(data.labels.tolist()))) != 2:
        raise UnreadableFile(source.uri, f"must have labels of two classes in its part {part}, and has {classes}")
    return data


def _gaps(model: SmoothedTreeClassifier, train: BinaryData) -> dict[int, float]:
    gap = compare_with_agnostic(model, train.features, train.labels, max(GAP_RADII)).gap
    return {r: float(gap[r]) for r in GAP_RADII}


def _digest(*arrays: NDArray[Any]) -> str:
    """Identifies labels and scores, exact ones too."""
    return hashlib.sha256(repr([array.tolist() for array in arrays]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Tuned:
    parameters: Mapping[str, Any]
    model: Any
    auc: float


def _tune(candidates: list[tuple[dict[str, Any], Any]], train: BinaryData, validation: BinaryData) -> _Tuned:
    """The candidate with the largest AUC on validation, the first of several, trained."""
    best: _Tuned | None = None
    for parameters, candidate in candidates:
        model = candidate.fit(train.features, train.labels)
        auc = float(roc_auc_score(validation.labels, model.predict_proba(validation.features)[:, 1]))
        if best is None or auc > best.auc:
            best = _Tuned(parameters, model, auc)
    assert best is not None
    return best


def _greedy_scores(tree: DecisionTreeClassifier, test: BinaryData, r: int) -> Scores:
    """What the greedy adversary makes of each molecule's score; it never moves one the wrong way."""
    negative, positive = tree.classes_.tolist()
    clean = tree.predict_proba(test.features)[:, 1]
    low, high = (
        tree.predict_proba(greedy_adversary(tree, test.features, r, toward))[:, 1] for toward in (negative, positive)
    )
    return clean, low, high
