"""The root command: commands by name, hints for what is not installed, and a quick start."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner

from ellzero.cli.main import cli
from ellzero.cli.registry import COMMANDS, CommandEntry
from ellzero.core.install_hint import install_hint
from ellzero.tables.bundled import LOCATION


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


@pytest.mark.parametrize(
    ("module", "extra", "line"),
    [
        ("torch", "predict", "certify --model demo-digits --out results"),
        ("torch", "predict", "certify --help"),
        ("safetensors", "predict", "train --alpha 0.9"),
        ("pyarrow", "tables", "report results"),
        ("pyarrow", "tables", "precompute --k 1 --alpha 0.5 --out table"),
        ("numpy", "tables", "tables info"),
        ("uvicorn", "serve", "serve"),
    ],
)
def test_without_its_extra_a_command_is_one_line_with_the_remedy(module: str, extra: str, line: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from ellzero.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ellzero: {line.split()[0]} needs the Python module {module}: {install_hint(extra)}\n"


@pytest.mark.parametrize(
    ("module", "extra", "line"),
    [
        ("ray", "cluster", "jobs list"),
        ("ray", "cluster", "precompute --k 1 --alpha 0.5 --executor ray --out table"),
        ("ray", "cluster", "certify --model demo-digits --executor ray --limit 2 --n 10 --out results"),
        ("matplotlib", "plot", "plot thresholds --k 1 --alpha 0.5 --out figure.png"),
        ("sklearn", "predict", "certify --model demo-digits --out results"),
        ("cryptography", "sign", f"tables sign {LOCATION} --new-key key.pem --out manifest.json"),
        ("cryptography", "sign", f"tables verify {LOCATION} --manifest manifest.json"),
    ],
)
def test_an_extra_that_only_some_options_need_is_named_when_they_are_used(
    tmp_path: Path, module: str, extra: str, line: str
) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from ellzero.cli.main import main; main()"
    command = [sys.executable, "-c", code, *line.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1].endswith(f": {install_hint(extra)}")
    assert "Traceback" not in done.stderr
    assert "stopped" not in done.stderr, "nothing had begun"


def test_a_module_of_ours_that_is_missing_is_a_defect_and_no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMANDS, "thing", CommandEntry("ellzero.cli.no_such_module:command", "tables", "A thing."))
    result = CliRunner().invoke(cli, ["thing"])
    assert isinstance(result.exception, ModuleNotFoundError)


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
    cli_modules = ["ellzero.cli", "ellzero.cli.groups", "ellzero.cli.main", "ellzero.cli.registry"]
    core_modules = [f"ellzero.core.{name}" for name in ("errors", "install_hint", "lazy", "text")]
    assert done.stdout == f"{[*cli_modules, 'ellzero.core', *core_modules]}\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_list_shows_the_first_line_of_each_command_s_help(name: str) -> None:
    command = cli.get_command(Context(cli), name)
    assert command is not None
    assert (command.help or "").strip().splitlines()[0] == COMMANDS[name].summary


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(unbuffered: str) -> None:
    command = [sys.executable, "-m", "ellzero", "radius", "--p", "0.9", "--k", "1", "--alpha", "0.8", "--d", "5"]
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr == "ellzero: No space left on device\n"
