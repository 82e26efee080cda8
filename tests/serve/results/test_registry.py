"""The results of a service are those of its folder now: runs that begin, grow, are damaged, repaired or removed."""

import json
from pathlib import Path

import pytest
from serve.results_folders import certified, write_results

from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import UnusableResults
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.results import registry as module
from ellzero.serve.results.registry import ResultsRegistry


def test_a_run_in_progress_appears_and_grows(tmp_path: Path) -> None:
    registry = ResultsRegistry(str(tmp_path))
    assert registry.list_results().results == []
    store = write_results(tmp_path / "run", [])
    assert [info.inputs for info in registry.list_results().results] == [0]
    with pytest.raises(HttpProblem, match="the run run has no results yet"):
        registry.find("run")
    for inputs in (1, 2, 3):
        store.write([(inputs - 1, 0, certified(0, inputs))])
        assert [info.inputs for info in registry.list_results().results] == [inputs]
        assert registry.find("run").info.inputs == inputs
    assert registry.find("run").report.info.mean_radius == 2


def test_a_run_that_began_since_the_last_listing_is_found(tmp_path: Path) -> None:
    registry = ResultsRegistry(str(tmp_path))
    write_results(tmp_path / "later", [(0, certified(0, 1))])
    assert registry.find("later").info.inputs == 1


def test_damaged_results_are_listed_with_the_reason_and_come_back_when_repaired(tmp_path: Path) -> None:
    write_results(tmp_path / "good", [(0, certified(0, 1))])
    write_results(tmp_path / "bad", [(0, certified(0, 1))])
    registry = ResultsRegistry(str(tmp_path))
    assert [info.name for info in registry.list_results().results] == ["bad", "good"]
    part = next((tmp_path / "bad").glob("part-*"))
    content = part.read_bytes()
    part.write_bytes(content[:100])
    answer = registry.list_results()
    assert [info.name for info in answer.results] == ["good"]
    reason = f"{part.name} is damaged; remove it and run the same command again"
    assert answer.unusable == [UnusableResults("bad", reason)]
    with pytest.raises(HttpProblem, match="the results bad cannot be read: part-"):
        registry.find("bad")
    part.write_bytes(content)
    assert [info.name for info in registry.list_results().results] == ["bad", "good"]


def test_results_that_are_removed_are_forgotten(tmp_path: Path) -> None:
    write_results(tmp_path / "run", [(0, certified(0, 1))])
    registry = ResultsRegistry(str(tmp_path))
    registry.find("run")
    for file in (tmp_path / "run").iterdir():
        file.unlink()
    assert registry.list_results().results == []
    with pytest.raises(HttpProblem, match="there are no results of this name"):
        registry.find("run")


@pytest.mark.parametrize("name", ["../outside", "inside/../../outside", "/", "", ".", "inside/", "INSIDE", "%2e%2e"])
def test_only_listed_names_are_found(tmp_path: Path, name: str) -> None:
    write_results(tmp_path / "outside", [(0, certified(0, 1))])
    write_results(tmp_path / "root" / "inside", [(0, certified(0, 1))])
    registry = ResultsRegistry(str(tmp_path / "root"))
    registry.list_results()
    for wrong in (name, str(tmp_path / "outside")):
        with pytest.raises(HttpProblem, match="there are no results of this name"):
            registry.find(wrong)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is larger than what is kept is read anew each time, and gives the same answers."""
    write_results(tmp_path / "run", [(0, certified(0, 1))] * 50)
    kept = ResultsRegistry(str(tmp_path))
    assert kept.find("run") is kept.find("run")
    monkeypatch.setattr(module, "_MOST_BYTES", 100)
    bounded = ResultsRegistry(str(tmp_path))
    assert bounded.find("run") is not bounded.find("run")
    assert bounded.find("run").report == kept.find("run").report


def test_without_a_folder_there_are_no_results() -> None:
    registry = ResultsRegistry(None)
    registry.check()
    assert registry.list_results().results == []
    with pytest.raises(HttpProblem, match="there are no results of this name"):
        registry.find("run")


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="results must be an existing folder"):
        ResultsRegistry(str(tmp_path / "missing")).check()


def test_results_of_other_kinds_are_neither_listed_nor_called_damaged(tmp_path: Path) -> None:
    """A folder of `ellzero reproduce mnist` has searches, and images that are no bits, beside its certificates."""
    for name, change in (("searches", {"kind": "search"}), ("grey", {"certificate": "none"}), ("run", {})):
        write_results(tmp_path / name, [(0, certified(0, 1))])
        description = tmp_path / name / "run.json"
        description.write_text(json.dumps(json.loads(description.read_text()) | change))
    registry = ResultsRegistry(str(tmp_path))
    for _ in range(2):  # the second time from memory
        answer = registry.list_results()
        assert [one.name for one in answer.results] == ["run"]
        assert answer.unusable == []
    with pytest.raises(HttpProblem, match="grey holds no certificates: none"):
        registry.find("grey")
