"""The root command: found by name, made of the installed parts, and quick to start."""

import subprocess
import sys
from importlib.metadata import version

import pytest
from click import Context
from click.testing import CliRunner
from command_line import Ellzero

from ellzero.cli.main import cli
from ellzero.cli.registry import COMMANDS, CommandEntry
from ellzero.core.install_hint import install_hint


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ellzero", *arguments], capture_output=True, text=True, check=False)


def test_as_a_module_it_shows_its_help_and_version() -> None:
    assert "thresholds" in run().stdout
    assert run("--version").stdout == f"ellzero, version {version('ellzero')}\n"


def test_the_installed_script_is_the_same_command() -> None:
    script = sys.executable.removesuffix(sys.executable.rpartition("/")[2]) + "ellzero"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == run("--version").stdout


def test_a_command_with_a_missing_dependency_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "thing", CommandEntry("no_such_module_here:command", None, "A thing."))
    result = CliRunner().invoke(cli, ["thing"])
    assert result.exit_code == 1
    assert "thing needs the Python module no_such_module_here, which is not installed" in result.output
    assert "A thing." in CliRunner().invoke(cli, []).output


def test_it_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "thing", CommandEntry("no_such_module_here:command", "tables", "A thing."))
    result = CliRunner().invoke(cli, ["thing", "show", "--all", "x"])
    assert result.exit_code == 1
    assert f"thing needs the Python module no_such_module_here: {install_hint('tables')}" in result.output


@pytest.mark.parametrize(("typed", "meant"), [("raduis", "radius"), ("threshold", "thresholds"), ("table", "tables")])
def test_a_misspelt_command_is_answered_with_the_nearest_one(ellzero: Ellzero, typed: str, meant: str) -> None:
    run = ellzero(typed)
    assert (run.code, run.err) == (2, f"ellzero: no command '{typed}'. Did you mean {meant}?\n")


def test_every_command_is_where_the_registry_says() -> None:
    for name, entry in COMMANDS.items():
        command = cli.get_command(Context(cli), name)
        assert command is not None
        assert command.name == name
        assert entry.summary.endswith(".")


def test_help_imports_no_command_and_no_heavy_module() -> None:
    code = """
import sys
from click.testing import CliRunner
from ellzero.cli.main import cli
assert CliRunner().invoke(cli, ["--help"]).exit_code == 0
print(sorted(name for name in sys.modules if name.startswith(("ellzero.", "torch", "ray", "numpy", "gmpy2", "flint"))))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shown = ["ellzero.cli", "ellzero.cli.main", "ellzero.cli.registry", "ellzero.core", "ellzero.core.errors"]
    assert done.stdout == f"{[*shown, 'ellzero.core.install_hint', 'ellzero.core.lazy']}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_shows_the_first_line_of_each_command_s_help(name: str) -> None:
    command = cli.get_command(Context(cli), name)
    assert command is not None
    assert (command.help or "").strip().splitlines()[0] == COMMANDS[name].summary
