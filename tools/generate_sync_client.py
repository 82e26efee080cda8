"""Write the synchronous client from the asynchronous one; with --check only say whether it is up to date."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

CLIENT = Path(__file__).parents[1] / "client" / "ellzero" / "client"
HEADER = "# Written by `make client` from _async.py: change that file instead.\n"
RENAMED = {
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "AsyncJob": "Job",
    "aclose": "close",
    "anyio": "time",
}


def generate() -> str:
    """The source of ``_sync.py``."""
    with tempfile.TemporaryDirectory() as scratch:
        rule = unasync.Rule(f"{CLIENT}/", f"{scratch}/", RENAMED)
        unasync.unasync_files([str(CLIENT / "_async.py")], [rule])
        source = (Path(scratch) / "_async.py").read_text(encoding="utf-8")
    source = HEADER + re.sub(r"\bAsync(Client|Job)\b", r"\1", source)  # in annotations and docstrings
    for step in (["check", "--fix", "--quiet", "--select=I"], ["format", "--quiet"]):
        command = [sys.executable, "-m", "ruff", *step, f"--stdin-filename={CLIENT / '_sync.py'}", "-"]
        source = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    return source


def main() -> None:
    target = CLIENT / "_sync.py"
    source = generate()
    if "--check" not in sys.argv:
        target.write_text(source, encoding="utf-8")
    elif source != target.read_text(encoding="utf-8"):
        sys.exit("client/ellzero/client/_sync.py is out of date: run `make client`")


if __name__ == "__main__":
    main()
