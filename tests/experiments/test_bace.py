"""The experiment on trees, on data that needs no download: tables that hold, and AUCs that are kept."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from ellzero.core.errors import BadResults
from ellzero.experiments import Estimate, ExperimentFolder, ExperimentResult
from ellzero.experiments.bace import FILE, find_data, run_experiment, write_quick_data
from ellzero.trees import UnreadableFile


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> ExperimentFolder:
    folder = ExperimentFolder(tmp_path_factory.mktemp("bace"))
    run_experiment(folder, write_quick_data(folder, 0), 20, quick=True)
    return folder


@pytest.fixture(scope="module")
def result(folder: ExperimentFolder) -> ExperimentResult:
    result = folder.result()
    assert result is not None
    return result


def test_curves_fall_and_guarantees_are_exact_fractions(result: ExperimentResult) -> None:
    rows = result.table("auc").rows
    assert len(rows) == 4 * 3
    for row in rows:
        guarantees = row[2:5]
        assert all(isinstance(each, Fraction) for each in guarantees)
        assert list(guarantees) == sorted(guarantees, reverse=True)  # type: ignore[type-var]
        assert isinstance(row[5], Fraction)
        assert row[5] >= 0
    assert [row[1] for row in result.table("classifiers").rows][2].startswith("max_depth")  # type: ignore[union-attr]


def test_the_papers_gaps_stand_beside_those_of_its_data_only(result: ExperimentResult) -> None:
    gaps = result.table("gaps").rows
    assert [row[0] for row in gaps] == [1, 2]
    for _, tuned, with_paper in gaps:
        assert isinstance(tuned, Estimate)
        assert isinstance(with_paper, Estimate)
        assert tuned.value is not None
        assert tuned.value >= 0
        assert with_paper.paper is None, "this is not the paper's data"


def test_aucs_that_are_kept_are_not_searched_again(folder: ExperimentFolder, result: ExperimentResult) -> None:
    kept = json.loads((folder.path / "aucs.json").read_text())
    assert len(kept) == 4 * 3 * 3
    marked = dict(kept)
    key = next(iter(marked))
    marked[key] = [*marked[key][:2], "1/3", "1/2"]
    folder.write_json("aucs.json", marked)
    again = run_experiment(folder, write_quick_data(folder, 0), 20, quick=True)
    assert again.table("auc").rows[0][2] == Fraction(1, 3)
    folder.write_json("aucs.json", kept)
    assert run_experiment(folder, write_quick_data(folder, 0), 20, quick=True).tables == result.tables


def test_other_settings_are_refused(folder: ExperimentFolder) -> None:
    with pytest.raises(BadResults, match=r"config\.data\.seed is 0 there and 1 here"):
        run_experiment(folder, write_quick_data(folder, 1), 20, quick=True)


def test_missing_data_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=f"{tmp_path}/{FILE}"):
        run_experiment(ExperimentFolder(tmp_path / "out"), find_data(tmp_path, "scaffold", 0), 20)
    assert not (tmp_path / "out").exists()
