"""A container's place on this machine: a folder for its file system, its environment, and processes that are all ended.

No engine is needed: a path of the container becomes a path in the folder, and everything else is what the files say.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

# Paths of the images that their own commands make or use; others, such as /bin/sh, are this machine's.
_OWN_PATHS = re.compile(r"(?<![\w./-])/(?=(?:opt|src|dist|tables|models|jobs|home|tmp/ray)\b)")
# Everything that is started inherits this variable, by which all of it is found again.
_MARK = "ELLZERO_TEST_MACHINE"
_START_SECONDS = 120.0
_END_SECONDS = 40.0
_POLL_SECONDS = 0.1


@dataclass
class Machine:
    """A container without an engine: ``root`` is its file system, ``variables`` its environment."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    folder: str = "/"

    def place(self, text: str) -> str:
        """``text`` with the container's paths as paths of this machine."""
        return _OWN_PATHS.sub(f"{self.root}/", text)

    def path(self, path: str) -> Path:
        """Where a path of the container, relative ones from its folder, lies here."""
        return self.root / os.path.normpath(os.path.join(self.folder, path)).lstrip("/")

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a process in it sees: of this machine's environment only what says how to reach a package index."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in ("HOME", "LANG", "LD_LIBRARY_PATH") or name.startswith(("PIP_", "SSL_", "REQUESTS_"))
        }
        both = self.variables | dict(extra or {})
        return {**inherited, **{name: self.place(value) for name, value in both.items()}, _MARK: str(self.root)}

    def run(self, command: Sequence[str], extra: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """A command from beginning to end; it must be found on the container's PATH."""
        words, environment, folder = self._prepared(command, extra)
        return subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)

    @contextmanager
    def running(
        self, command: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A command while the block lasts; then SIGTERM, as an engine does, and SIGKILL for what is left after that."""
        words, environment, folder = self._prepared(command, extra)
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                words, env=environment, cwd=folder, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            self.end()
            process.wait(_END_SECONDS)

    @property
    def log(self) -> Path:
        """What the running command has written."""
        return self.root / "log"

    def end(self) -> None:
        """End all processes of this machine by their ids, those that went their own way too, as an engine does."""
        deadline = time.monotonic() + _END_SECONDS
        while (left := self._processes()) and time.monotonic() < deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_SECONDS)
        assert not left, f"processes are left: {left}"

    def _prepared(
        self, command: Sequence[str], extra: Mapping[str, str] | None
    ) -> tuple[list[str], dict[str, str], Path]:
        folder = self.path(".")
        folder.mkdir(parents=True, exist_ok=True)
        return [self.place(word) for word in command], self.environment(extra), folder

    def _processes(self) -> list[int]:
        mark = f"{_MARK}={self.root}".encode()
        pids = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # one that has ended
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    pids.append(int(folder.name))
        return pids


def wait_until_well(
    machine: Machine, check: Sequence[str], process: subprocess.Popen[bytes], extra: Mapping[str, str]
) -> None:
    """Ask a health check until it succeeds, as an engine does."""
    deadline = time.monotonic() + _START_SECONDS
    errors = ""
    while time.monotonic() < deadline and process.poll() is None:
        answer = machine.run(check, extra)
        if answer.returncode == 0:
            return
        errors = answer.stderr
        time.sleep(_POLL_SECONDS)
    raise AssertionError(f"not well: {errors}\n{machine.log.read_text()}")
