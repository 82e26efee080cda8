"""From nothing to a certified radius: compute a table, serve it, query it. `make run` runs this."""

import re
import subprocess
import sys
from pathlib import Path

from ellzero.client import Client

ELLZERO = str(Path(sys.executable).parent / "ellzero")
TABLE = Path("build") / "table"


def main() -> None:
    """Everything that a user would do, in order."""
    grid = ["--k", "1,255", "--alpha", "0.1:0.9:0.1", "--d", "784,150528"]
    say("computing a small table")
    subprocess.run([ELLZERO, "precompute", *grid, "--out", str(TABLE)], check=True)

    say("serving it")
    command = [ELLZERO, "serve", "--tables", str(TABLE), "--port", "0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = read_address(service)
        with Client(address) as client:
            say(f"querying {address} with the client")
            answer = client.radius("0.99", k=255, alpha="0.2", d=150528)
            votes = client.radius(count=99_900, n=100_000, failure="0.001", k=255, alpha="0.2", d=150528)
    finally:
        service.terminate()
        service.wait()

    say(f"p = 0.99 certifies radius {answer.radius} (from the {answer.source}): it exceeds {answer.threshold}")
    say(f"99,900 of 100,000 votes certify radius {votes.radius}, which takes at least {votes.min_count:,} votes")
    say("next: `make serve` keeps the service up, with its page at http://127.0.0.1:8000 and its API at /docs")


def read_address(service: "subprocess.Popen[str]") -> str:
    """The address that the service prints once it is ready."""
    line = service.stderr.readline() if service.stderr else ""
    address = re.search(r"http://\S+", line)
    if address is None:
        raise SystemExit(f"the service did not start: {line}")
    return address[0]


def say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
