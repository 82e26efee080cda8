"""The experiment on sentences, on made-up ones: what is chosen and certified, and that a stopped run resumes."""

from pathlib import Path

import pytest

from ellzero.core.errors import BadResults, InvalidInput
from ellzero.experiments import ExperimentFolder, ExperimentResult
from ellzero.experiments.float_certificates import BETA_ONE, BETA_SHARE, FLOAT_THRESHOLD, PUBLIC_SHOWN
from ellzero.experiments.result import Estimate
from ellzero.experiments.text import run_text
from ellzero.experiments.text_data import TREC, write_made_up_corpus
from ellzero.experiments.text_settings import TextSettings
from ellzero.experiments.text_tables import CONSTANT
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.runs.result_store import ResultStore

TINY = TextSettings(
    words=30, masks=("0.7", "0.8"), alphas=("0.3",), epochs=2, n=300, tuning_n=100, tuning_sentences=10, sentences=12
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both data sets: the made-up one, and one of three classes in the format of TREC."""
    folder = write_made_up_corpus(tmp_path_factory.mktemp("data"), 0)
    words = ("Who wrote it ?", "Where is the film ?", "When was it made ?")
    (folder / TREC.train).write_text("".join(f"{row % 3} {words[row % 3]}\n" for row in range(60)), encoding="utf-8")
    (folder / TREC.test).write_text("".join(f"{row % 3} {words[row % 3]}\n" for row in range(9)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(data: Path, tmp_path_factory: pytest.TempPathFactory) -> ExperimentFolder:
    folder = ExperimentFolder(tmp_path_factory.mktemp("text"))
    run_text(folder, data, TINY)
    return folder


@pytest.fixture(scope="module")
def result(folder: ExperimentFolder) -> ExperimentResult:
    result = folder.result()
    assert result is not None
    return result


def test_both_data_sets_have_their_tables_and_a_figure(folder: ExperimentFolder, result: ExperimentResult) -> None:
    names = [f"{corpus}-{kind}" for kind in ("tuning", "accuracy") for corpus in ("sst2", "trec")]
    assert [table.name for table in result.tables] == [*names, "floats", "runs"]
    assert result.plots == ("text.svg",)
    assert (folder.path / "text.svg").stat().st_size > 0
    assert "of 80 test sentences" in result.table("sst2-accuracy").caption
    assert "on all 9 test sentences" in result.table("trec-accuracy").caption


def test_accuracies_fall_with_r_and_a_constant_answer_keeps_its_own(result: ExperimentResult) -> None:
    *rows, constant = result.table("sst2-accuracy").rows
    for row in rows:
        shares = [cell.value for cell in row[3:] if isinstance(cell, Estimate)]
        assert len(shares) == 7
        assert shares == sorted(shares, reverse=True)  # type: ignore[type-var]
        assert shares[0] > 0.5  # type: ignore[operator]
    assert constant[0] == CONSTANT
    assert len(set(constant[3:])) == 1


def test_what_is_tested_was_chosen_on_validation_sentences(result: ExperimentResult) -> None:
    for corpus in ("sst2", "trec"):
        tested = [row[0] for row in result.table(f"{corpus}-tuning").rows if row[-1]]
        certified = [row[0] for row in result.table(f"{corpus}-accuracy").rows]
        assert certified[: len(tested)] == tested
        shares = [row[0] for row in result.table(f"{corpus}-tuning").rows if row[-1] and "hidden" in str(row[0])]
        assert len(certified) == len(tested) + len(shares) + 1


def test_every_rule_is_judged_by_what_the_votes_prove(folder: ExperimentFolder, result: ExperimentResult) -> None:
    rows = result.table("floats").rows
    assert {row[2] for row in rows} == {BETA_ONE, BETA_SHARE, FLOAT_THRESHOLD, PUBLIC_SHOWN}
    for row in rows:
        sentences, more, surplus, less, proved, claimed = row[3:]
        assert 0 <= more <= sentences  # type: ignore[operator]
        assert (more == 0) == (surplus == 0)
        if row[2] in (BETA_ONE, FLOAT_THRESHOLD):
            assert (more, less) == (0, 0)
            assert proved == pytest.approx(claimed)
    store = ResultStore(str(next((folder.path / "runs").glob("test-sst2-masked-share-*"))))
    assert set(store.table()["d"].to_pylist()) <= set(range(4, 13))


def test_the_same_command_resumes_and_other_settings_are_refused(
    folder: ExperimentFolder, data: Path, result: ExperimentResult
) -> None:
    files = {path: path.stat().st_mtime_ns for path in (folder.path / "models").iterdir()}
    assert run_text(folder, data, TINY).tables == result.tables
    assert all(path.stat().st_mtime_ns == time for path, time in files.items())
    with pytest.raises(BadResults, match="holds another experiment: config.epochs is 2 there and 3 here"):
        run_text(folder, data, TextSettings(**{**vars(TINY), "epochs": 3}))


@pytest.mark.parametrize(("field", "levels"), [("masks", ("0.5", "1/2")), ("alphas", ("1",)), ("masks", ("x",))])
def test_levels_that_are_none_are_refused(data: Path, tmp_path: Path, field: str, levels: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match=f"^{field} must be different numbers between 0 and 1"):
        run_text(ExperimentFolder(tmp_path / "out"), data, TextSettings(**{**vars(TINY), field: levels}))
    assert not (tmp_path / "out").exists()


def test_missing_data_begins_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="has no sentences"):
        run_text(ExperimentFolder(tmp_path / "out"), tmp_path, TINY)
    assert not (tmp_path / "out").exists()
