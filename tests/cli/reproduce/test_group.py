"""``ellzero reproduce``: its commands by name, imported when they are run."""

import subprocess
import sys
from pathlib import Path

import pytest
from click import Context
from command_line import Ellzero, check_mistake

from ellzero.cli.registry import COMMANDS, REPRODUCE_COMMANDS, find_extra
from ellzero.cli.reproduce.group import reproduce_group
from ellzero.core.install_hint import install_hint


@pytest.mark.parametrize("name", sorted(REPRODUCE_COMMANDS))
def test_the_list_shows_the_first_line_of_each_command_s_help(name: str) -> None:
    command = reproduce_group.get_command(Context(reproduce_group), name)
    assert command is not None
    assert command.name == name
    assert (command.help or "").strip().splitlines()[0] == REPRODUCE_COMMANDS[name].summary
    assert {"out", "quick"} <= {parameter.name for parameter in command.params}


def test_without_a_command_it_lists_them_all(ellzero: Ellzero) -> None:
    run = ellzero("reproduce")
    assert run.code == 0
    for name, entry in REPRODUCE_COMMANDS.items():
        assert name in run.out
        assert entry.summary.split()[0] in run.out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("regions --quick --out s3://bucket/x", "s3://bucket/x is no folder on this machine"),
        ("regions --quick --out ''", "--out must name a folder"),
        ("bace --quick --time-limit nan", "--time-limit must be a number of seconds"),
    ],
)
def test_a_place_or_a_number_that_cannot_be_is_one_line(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = ellzero(f"reproduce {line}")
    assert code in (1, 2)
    assert (out, err.count("\n")) == ("", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_command_is_answered_with_the_nearest(ellzero: Ellzero) -> None:
    check_mistake(ellzero("reproduce threshold"), "no command 'threshold'. Did you mean thresholds?")


def test_without_its_extra_a_command_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from ellzero.cli.main import main; main()"
    line = ["reproduce", "regions"]
    done = subprocess.run([sys.executable, "-c", code, *line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == f"ellzero: reproduce regions needs the Python module matplotlib: {install_hint('reproduce')}\n"
    )


def test_a_job_takes_along_what_its_experiment_needs() -> None:
    assert find_extra(["reproduce", "thresholds", "--quick"]) == "reproduce"
    assert find_extra(["certify", "--model", "m"]) == COMMANDS["certify"].extra
    assert find_extra(["reproduce"]) is None
