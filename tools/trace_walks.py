"""Print the project's files that run for a lookup, a certificate and a grid: `python tools/trace_walks.py`.

A file counts if one of its functions runs between the request and its answer, in any thread, on the second request of
its kind: what is loaded or cached by the first is not part of the walk. The grid is computed in this process, so that
the worker is traced too. docs/architecture.md explains the walks; files that its numbered lists leave out are marked as
leaves.
"""

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import click
from click.testing import CliRunner
from starlette.testclient import TestClient

from ellzero.cli.main import cli
from ellzero.serve import ServeSettings, create_app

ROOT = Path(__file__).resolve().parent.parent


class FileRecorder:
    """Records the project's files whose functions run while it is ``active``."""

    def __init__(self) -> None:
        self.active = False
        self.files: set[str] = set()

    def install(self) -> None:
        """Watch this thread and all that are started from now on."""
        threading.setprofile(self._record)
        sys.setprofile(self._record)

    def _record(self, frame: FrameType, event: str, argument: object) -> None:
        path = frame.f_code.co_filename
        if self.active and event == "call" and path.startswith(str(ROOT)) and "/ellzero/" in path:
            self.files.add(path.rpartition("/ellzero/")[2])


def read_walk(name: str) -> set[str]:
    """Read the files of a numbered walk from docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition(f"### {name.capitalize()}:")[2].partition("\n##")[0]
    return set(re.findall(r"^\d+\. `(\S+\.py)`", section, re.MULTILINE))


def trace(recorder: FileRecorder, name: str, request: Callable[[], object]) -> None:
    """Print the files that run for the second ``request``."""
    request()
    recorder.files.clear()
    recorder.active = True
    result = request()
    recorder.active = False
    leaves = recorder.files - read_walk(name)
    click.echo(f"{name}: {result}, {len(recorder.files)} files, of which {len(leaves)} are leaves")
    for file in sorted(recorder.files):
        click.echo(f"  {file}{'  (leaf)' if file in leaves else ''}")


def compute_grid() -> str:
    """Run ``ellzero precompute`` into a new table."""
    with TemporaryDirectory() as folder:
        options = ["--k", "255", "--alpha", "0.2", "--r-max", "50", "--executor", "local", "--out", folder]
        return f"exit code {CliRunner().invoke(cli, ['precompute', *options]).exit_code}"


def main() -> None:
    recorder = FileRecorder()
    recorder.install()
    with TestClient(create_app(ServeSettings(log_level="error"))) as client:
        example = client.get("/v1/examples?model=demo-digits").json()["examples"][0]["x"]
        body = {"model": "demo-digits", "x": example, "n": 2_000, "seed": 1, "wait": 20}
        trace(recorder, "lookup", lambda: client.get("/v1/radius?k=255&alpha=0.2&d=784&p=0.99"))
        trace(recorder, "certify", lambda: client.post("/v1/certify", json=body))
    trace(recorder, "grid", compute_grid)


if __name__ == "__main__":
    main()
