"""The command line as tests run it: in this process, with what it printed and its exit code."""

import shlex
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from ellzero.cli.main import main


class Run(NamedTuple):
    code: str | int | None
    out: str
    err: str


Ellzero = Callable[[str], Run]


@pytest.fixture
def ellzero(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ellzero:
    """Runs ``ellzero <line>``."""

    def run(line: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["ellzero", *shlex.split(line)])
        code: str | int | None = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        return Run(code, *capsys.readouterr())

    return run
