"""The root command: found by name, made of the installed parts, and quick to start."""

import subprocess
import sys
from importlib.metadata import EntryPoint, version

import pytest
from click.testing import CliRunner

from ellzero.client import cli


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ellzero", *arguments], capture_output=True, text=True, check=False)


def test_as_a_module_it_shows_its_help_and_version() -> None:
    assert "thresholds" in run().stdout
    assert run("--version").stdout == f"ellzero, version {version('ellzero')}\n"


def test_the_installed_script_is_the_same_command() -> None:
    script = sys.executable.removesuffix(sys.executable.rpartition("/")[2]) + "ellzero"
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == run("--version").stdout


def test_a_part_with_a_missing_dependency_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("thing", "no_such_module_here:command", "ellzero.commands")
    monkeypatch.setattr(cli, "_entries", lambda: {"thing": entry})
    result = CliRunner().invoke(cli.cli, ["thing"])
    assert result.exit_code == 1
    assert "thing needs the Python module no_such_module_here, which is not installed" in result.output
    assert CliRunner().invoke(cli.cli, []).exit_code == 0


def test_it_says_how_to_get_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("thing", "no_such_module_here:command [tables]", "ellzero.commands")
    monkeypatch.setattr(cli, "_entries", lambda: {"thing": entry})
    result = CliRunner().invoke(cli.cli, ["thing", "show", "--all", "x"])
    assert result.exit_code == 1
    assert "thing needs the Python module no_such_module_here: pip install 'ellzero[tables]'" in result.output


def test_the_root_command_imports_no_part_and_no_heavy_module() -> None:
    code = (
        "import sys, ellzero.client.cli; print([m for m in sys.modules if m.startswith(('ellzero.c', 'torch', 'ray'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['ellzero.client', 'ellzero.client.cli']\n"
