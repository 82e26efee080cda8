"""The command line as tests run it: in this process or in one of its own, with its output and exit code."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ellzero.cli.main import main


class Run(NamedTuple):
    code: str | int | None
    out: str
    err: str


Ellzero = Callable[[str], Run]
PROCESS_SECONDS = 120


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


def start_process(line: str) -> subprocess.Popen[str]:
    """``ellzero <line>`` in a process of its own."""
    command = [sys.executable, "-m", "ellzero", *shlex.split(line)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_python(script: str) -> subprocess.Popen[str]:
    """A Python script in a process of its own, which can import what tests can."""
    tests = str(Path(__file__).parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def run_together(script: str, arguments: list[list[str]]) -> None:
    """Run a Python script in several processes at once; each prints "ready", waits for a line, and must succeed."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *words], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for words in arguments
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=PROCESS_SECONDS)
        assert process.returncode == 0


def run_process(line: str) -> Run:
    """``ellzero <line>`` in a process of its own, to its end."""
    with start_process(line) as process:
        out, err = process.communicate(timeout=PROCESS_SECONDS)
    return Run(process.returncode, out, err)


def interrupt_process(line: str, is_time: Callable[[], bool], stop: signal.Signals = signal.SIGINT) -> Run:
    """``ellzero <line>`` in a process of its own, interrupted as soon as ``is_time()``; it must not have ended."""
    with start_process(line) as process:
        deadline = time.monotonic() + PROCESS_SECONDS
        while not is_time() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(stop)
        out, err = process.communicate(timeout=PROCESS_SECONDS)
    return Run(process.returncode, out, err)


def check_mistake(run: Run, message: str) -> None:
    """A mistake is one line that starts with ``message``, and exit code 2."""
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1), run.err
    assert run.err.startswith(f"ellzero: {message}"), run.err
