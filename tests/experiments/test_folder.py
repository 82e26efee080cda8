"""The folder of an experiment: it resumes with the same configuration only, and its files are whole or absent."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ellzero.core.errors import BadResults
from ellzero.experiments import ExperimentFolder, ExperimentResult, ResultColumn, ResultTable

CONFIG = {"alphas": ["0.8"], "n": 100, "data": {"name": "digits", "sha256": "ab"}}
TABLE = ResultTable("t", "T", (ResultColumn("x"),), ((1,),))
WHOLE: dict[str, Any] = ExperimentResult("thresholds", "ellzero", 1.0, (TABLE,)).to_json()


def begun(path: Path) -> ExperimentFolder:
    folder = ExperimentFolder(path)
    folder.begin("thresholds", CONFIG)
    return folder


def test_an_experiment_is_written_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ellzero", "reproduce", "thresholds", "--out", str(tmp_path)])
    folder = begun(tmp_path / "new" / "folder")
    assert folder.result() is None
    folder.log("half of it")
    result = folder.finish([TABLE], {"agreeing": 3}, ["A note."], ["a.svg"])
    again = ExperimentFolder(folder.path)
    assert again.result() == result
    assert result.command == f"ellzero reproduce thresholds --out {tmp_path.name}"
    assert (result.name, result.tables, result.values, result.notes, result.plots) == (
        "thresholds",
        (TABLE,),
        {"agreeing": 3},
        ("A note.",),
        ("a.svg",),
    )
    description = again.describe()
    assert description is not None
    assert (description.name, description.config) == ("thresholds", CONFIG)
    (environment,) = again.environments()
    assert environment["machine"]["cores"] >= 1


def test_the_same_configuration_resumes_and_another_is_refused_with_all_differences(tmp_path: Path) -> None:
    begun(tmp_path)
    begun(tmp_path)
    assert len(ExperimentFolder(tmp_path).environments()) == 2
    other = {"alphas": ["0.8", "0.9"], "data": {"name": "digits"}, "n": 100, "more": 1}
    with pytest.raises(BadResults) as caught:
        ExperimentFolder(tmp_path).begin("thresholds", other)
    assert str(caught.value) == (
        f'{tmp_path} holds another experiment: config.alphas is ["0.8"] there and ["0.8", "0.9"] here; '
        'config.data.sha256 is "ab" there and missing here; config.more is null there and 1 here; give another --out'
    )
    with pytest.raises(BadResults, match='experiment is "thresholds" there and "bace" here'):
        ExperimentFolder(tmp_path).begin("bace", CONFIG)
    with pytest.raises(BadResults, match=r"config\.n is 100 there and missing here"):
        ExperimentFolder(tmp_path).begin("thresholds", {key: CONFIG[key] for key in ("alphas", "data")})


def test_the_log_has_a_line_for_each_event_and_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = begun(tmp_path)
    folder.log("first\nwith a break")
    folder.log("quietly", show=False)
    assert capsys.readouterr().err == "ellzero: first\nwith a break\n"
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \+\d+\.\d ", "", line) for line in lines] == [
        "thresholds begun",
        "first with a break",
        "quietly",
    ]


def test_seconds_are_those_of_all_runs_up_to_their_last_lines(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    (tmp_path / "log.txt").write_text(
        "2026-07-30T12:00:00Z +0.0 begun\n2026-07-30T12:00:09Z +9.5 cell\n2026-07-30T13:00:00Z +0.0 resumed\n"
        "2026-07-30T13:00:02Z +2.0 cell\n2026-07-30T13:00:03Z +2.5 cell\n2026-07-30T14:00:00Z +3.0 later"
    )
    assert folder.seconds() == pytest.approx(9.5 + 3.0)


def test_a_line_that_a_killed_run_left_unfinished_stays_a_line_of_its_own(tmp_path: Path) -> None:
    begun(tmp_path)
    with (tmp_path / "log.txt").open("a") as log:
        log.write("2026-07-30T12:00:00Z +4.0 torn")
    begun(tmp_path).log("on", show=False)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["thresholds begun", "torn", "thresholds resumed", "on"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("experiment.json", "{", "experiment.json is damaged"),
        ("experiment.json", "[]", "experiment.json is damaged"),
        ("experiment.json", '{"format": "other"}', "describes no experiment of ellzero"),
        (
            "experiment.json",
            '{"format": "ellzero experiment", "version": 9, "experiment": "x", "config": {}}',
            "was written by a later version of ellzero",
        ),
        (
            "experiment.json",
            '{"format": "ellzero experiment", "version": "x", "config": {}}',
            "experiment.json is damaged",
        ),
        ("environment.json", "{}", "environment.json is damaged"),
        ("environment.json", '{"runs": 5}', "environment.json is damaged"),
        ("environment.json", '{"runs": [{}]}', "environment.json is damaged"),
        ("results.json", '{"name": "x"}', "results.json is damaged"),
        *(
            ("results.json", json.dumps(WHOLE | change), "results.json is damaged")
            for change in (
                {"seconds": "x"},
                {"seconds": None},
                {"seconds": float("nan")},
                {"notes": [1]},
                {"tables": [{**TABLE.to_json(), "rows": [[float("nan")]]}]},
                {"tables": [{**TABLE.to_json(), "rows": [[{"decimal": "zz"}]]}]},
                {"tables": [{**TABLE.to_json(), "rows": [[{"decimal": "NaN"}]]}]},
                {"tables": [{**TABLE.to_json(), "rows": [[{"fraction": "1/0"}]]}]},
                {"tables": [{**TABLE.to_json(), "columns": [{"title": "x", "rounding": "zz"}]}]},
                {"tables": [{**TABLE.to_json(), "columns": [{"title": "x", "style": "zz"}]}]},
                {"tables": [{**TABLE.to_json(), "columns": [{"title": "x", "digits": -1}]}]},
            )
        ),
        ("results.json", '{"name": "x", "tables": [1]}', "results.json is damaged"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    folder = begun(tmp_path)
    (tmp_path / name).write_text(content)
    read = {"results.json": folder.result, "environment.json": folder.environments}.get(name, folder.describe)
    with pytest.raises(BadResults, match=message):
        read()


def test_the_results_that_the_damaged_ones_are_made_of_are_whole(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps(WHOLE))
    assert folder.result() is not None


@pytest.mark.parametrize("name", ["results.json", "log.txt", "environment.json"])
def test_files_of_something_else_are_not_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("important")
    with pytest.raises(BadResults, match=f"{name} is of no experiment, and would be overwritten"):
        begun(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "important"


def test_beginning_twice_is_one_run(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.begin("thresholds", CONFIG)
    assert len(folder.environments()) == 1
    assert len((tmp_path / "log.txt").read_text().splitlines()) == 1


def test_an_empty_folder_has_no_experiment_to_read_or_to_finish(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path)
    assert (folder.describe(), folder.result(), folder.environments(), folder.seconds()) == (None, None, [], 0.0)
    with pytest.raises(BadResults, match="holds no experiment that could end"):
        folder.finish([])
    with pytest.raises(BadResults, match="is no folder on this machine"):
        ExperimentFolder("s3://bucket/results")


def test_subfolders_are_made_and_numbers_that_json_lacks_are_refused(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    assert folder.subfolder("runs/alpha-0.8").is_dir()
    folder.write_json("times.json", {"α": 0.5})
    assert json.loads((tmp_path / "times.json").read_text(encoding="utf-8")) == folder.read_json("times.json")
    with pytest.raises(ValueError, match="Out of range"):
        folder.write_json("times.json", {"a": float("nan")})
    assert folder.read_json("times.json") == {"α": 0.5}


def test_the_seconds_of_a_run_that_is_killed_count_once_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: times[-1])
    folder = ExperimentFolder(tmp_path)
    folder.begin("coin", {})
    for seconds in (10, 59, 65, 70, 130, 170):
        times.append(100.0 + seconds)
        folder.log_progress("thrown")
    assert (tmp_path / "log.txt").read_text().count("thrown") == 2
    assert folder.seconds() == 130.0


def test_results_are_gone_while_another_run_works_on_them(tmp_path: Path) -> None:
    """If it is killed, no reader takes old results for those of its settings and environment."""
    folder = begun(tmp_path)
    folder.finish([TABLE])
    assert ExperimentFolder(tmp_path).result() is not None
    begun(tmp_path)
    assert ExperimentFolder(tmp_path).result() is None


def test_a_log_cut_within_a_character_is_read(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    with (tmp_path / "log.txt").open("ab") as log:
        log.write("2026-01-01T00:00:00Z +5.0 α".encode()[:-1])
    assert begun(tmp_path).seconds() >= 5
    assert folder.finish([TABLE]).tables == (TABLE,)
