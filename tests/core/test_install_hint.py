"""The command in the message for a missing extra works, wherever ellzero was installed from."""

import shlex
import subprocess
from pathlib import Path

import pytest

from ellzero.core.errors import MissingExtra
from ellzero.core.install_hint import CONSTRAINTS, install_hint, requirement

REPOSITORY = Path(__file__).parents[2]


def test_the_constraints_that_ship_are_those_of_the_checkout() -> None:
    assert CONSTRAINTS.read_text() == (REPOSITORY / "constraints.txt").read_text()
    assert "torch==" in CONSTRAINTS.read_text()


def test_a_missing_extra_says_how_to_get_it() -> None:
    assert str(MissingExtra("plotting", "plot")).endswith(f"optional dependency: {install_hint('plot')}")
    assert f"--constraint {CONSTRAINTS.resolve()}" in install_hint("plot")


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, ["ellzero[plot]"]),
        ({"url": "file:///there", "dir_info": {"editable": True}}, ["--editable", "/there[plot]"]),
        ({"url": "file:///there%20too", "dir_info": {}}, ["/there too[plot]"]),
        ({"url": "file:///gone", "dir_info": {}}, ["ellzero[plot]"]),
        ({"url": "file:///there/a.whl", "archive_info": {}}, ["ellzero[plot] @ file:///there/a.whl"]),
        ({"url": "https://host.invalid/a.whl", "archive_info": {}}, ["ellzero[plot] @ https://host.invalid/a.whl"]),
        (
            {"url": "https://host.invalid/x.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            ["ellzero[plot] @ git+https://host.invalid/x.git@abc"],
        ),
    ],
)
def test_it_names_what_ellzero_was_installed_from(
    direct_url: dict[str, object] | None, expected: list[str], tmp_path: Path
) -> None:
    for name in ("there", "there too"):
        (tmp_path / name).mkdir()
    (tmp_path / "there" / "a.whl").touch()
    if direct_url is not None:
        local = str(direct_url["url"]).replace("file:///", f"file://{tmp_path}/")
        direct_url = {**direct_url, "url": local}
    arguments = [word.replace(f"{tmp_path}/", "/") for word in requirement("plot", direct_url)]
    assert arguments == expected


def test_pip_takes_the_command_as_printed() -> None:
    """Only --dry-run is added, so that nothing is installed."""
    process = subprocess.run(
        [*shlex.split(install_hint("plot")), "--dry-run", "--quiet"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
