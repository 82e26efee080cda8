"""A real service in a process of its own, on a free port of loopback, for the tests of the page."""

import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from sysconfig import get_path

START_SECONDS = 60
END_SECONDS = 40
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


@contextmanager
def page_service(settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of ``ellzero serve`` with these ELLZERO_SERVE_… settings and no others; ended with the block."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ELLZERO_SERVE_")}
    command = [str(Path(get_path("scripts")) / "ellzero"), "serve", "--port", "0"]
    with tempfile.NamedTemporaryFile(prefix="ellzero-page-") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**environment, **(settings or {})})
        try:
            yield _ready(process, Path(log.name))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(END_SECONDS)


def _ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        if address := _ADDRESS.search(log.read_text()):
            try:
                with urllib.request.urlopen(f"{address[0]}/readyz", timeout=5):
                    return address[0]
            except OSError:  # it listens already, but does not answer yet
                pass
        time.sleep(0.1)
    raise RuntimeError(f"the service did not start:\n{log.read_text()}")
