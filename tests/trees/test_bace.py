"""The experiment on BACE, on a few small molecules: curves that fall, and figures."""

from fractions import Fraction
from pathlib import Path

import pytest

from ellzero.trees import UnreadableFile
from ellzero.trees.bace import BaceResult, run_bace
from ellzero.trees.data import BinaryDataSource
from ellzero.trees.drawing import plot_bace

SHARES = (Fraction(0), Fraction(1, 4), Fraction(1))


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> BaceResult:
    path = tmp_path_factory.mktemp("molecules") / "molecules.csv"
    ends = ("O", "N", "Cl", "C(=O)O", "c1ccccc1", "C1CCCC1")
    lines = [f"{'C' * n}{end},{n % 2}" for end in ends for n in range(1, 15)]
    path.write_text("\n".join(["mol,Class", *lines]) + "\n")
    return run_bace(BinaryDataSource(str(path), "Class", "mol", "random"), 1, SHARES)


def test_every_classifier_has_a_curve_that_falls(result: BaceResult) -> None:
    assert [each.name for each in result.classifiers] == [
        "smoothed tree",
        "smoothed forest",
        "vanilla tree",
        "vanilla tree, greedy adversary",
    ]
    assert sum(result.sizes) == 84
    for classifier in result.classifiers:
        for r in (1, 2, 3):
            points = [point for point in classifier.curve if point.r == r]
            assert [point.share for point in points] == list(SHARES)
            assert points[0].guaranteed == classifier.test_auc
            assert all(point.guaranteed <= point.attained for point in points)
            assert [point.guaranteed for point in points] == sorted((p.guaranteed for p in points), reverse=True)


def test_the_greedy_adversary_never_does_better_than_the_exact_one(result: BaceResult) -> None:
    exact, greedy = result.classifiers[2:]
    for strong, weak in zip(exact.curve, greedy.curve, strict=True):
        assert strong.guaranteed <= weak.attained


def test_knowing_the_tree_is_never_worse_than_not_knowing_it(result: BaceResult) -> None:
    assert all(gap >= 0 for gaps in (result.gaps, result.paper_gaps) for gap in gaps.values())


def test_the_curves_are_drawn(result: BaceResult, tmp_path: Path) -> None:
    plot_bace(result, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").read_text().count('id="axes_') == 3


@pytest.mark.parametrize(("labels", "part"), [("1" + "0" * 9, "validation"), ("0120120120", "train")])
def test_every_part_needs_two_classes(tmp_path: Path, labels: str, part: str) -> None:
    path = tmp_path / "molecules.csv"
    path.write_text("\n".join(["mol,Class", *(f"{'C' * (n + 1)}O,{label}" for n, label in enumerate(labels))]) + "\n")
    with pytest.raises(UnreadableFile, match=f"must have labels of two classes in its part {part}, and has"):
        run_bace(BinaryDataSource(str(path), "Class", "mol", "random", seed=2), 1, SHARES)
