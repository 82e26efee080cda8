"""The service, measured by wrk (Debian's) on one worker: the part of `make bench` that needs a minute."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import numpy as np
from measuring import Measurement, seconds
from serve.running import Running, free_port, running

from ellzero.certificates import Discrete
from ellzero.client import Client
from ellzero.tables import bundled_index

_ROUNDS, _SECONDS, _CONNECTIONS = 8, 2, 32
_HERE = Path(__file__).parent
_QUERY = "/v1/radius?k=255&alpha=0.2&d=150528"
_UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


class Load(NamedTuple):
    """Requests a second, and how many milliseconds 99 of 100 took at most."""

    rate: float
    p99: float


def service() -> Iterator[Measurement]:
    """Lookups a second, latency, batches and memory."""
    with tempfile.TemporaryDirectory() as directory, running(Path(directory) / "log") as ours:
        for path in (f"{_QUERY}&p=0.99", "/v1/tables"):
            httpx2.get(ours.url + path)
        idle = ours.memory()
        yield from _lookups(ours)
        yield from _batch(ours)
        yield Measurement("memory of the idle service, MB", f"{idle / 1e6:.0f}", "the shipped table, 421,174 rows")


def _lookups(ours: Running) -> Iterator[Measurement]:
    if shutil.which("wrk") is None:
        yield Measurement("lookups a second", "skipped", "wrk is not installed: apt-get install wrk")
        return
    lookups: list[Load] = []
    bare: list[Load] = []
    with _bare_route() as url:
        for _ in range(_ROUNDS):
            bare.append(_wrk(url + _QUERY))
            lookups.append(_wrk(ours.url + _QUERY))
    fastest, constant = max(load.rate for load in lookups), max(load.rate for load in bare)
    yield Measurement(
        "lookups a second / a bare FastAPI route's constants a second",
        f"{fastest / constant:.2f}",
        f"{fastest:,.0f} / {constant:,.0f}, {_CONNECTIONS} connections, best of {_ROUNDS}",
    )
    slow, slow_constant = min(load.p99 for load in lookups), min(load.p99 for load in bare)
    yield Measurement(
        f"p99 of lookups / of the bare route, {_CONNECTIONS} connections",
        f"{slow / slow_constant:.2f}",
        f"{slow:.1f} ms / {slow_constant:.1f} ms",
    )


def _batch(ours: Running) -> Iterator[Measurement]:
    values = np.random.default_rng(0).uniform(0.5, 1, 100_000)
    numbers = values.tolist()
    noise, index = Discrete(255, "0.2"), bundled_index()
    direct = seconds(lambda: index.radius(values, noise, 150528), 10)
    with Client(ours.url) as client:
        # Several calls in a row: a connection is slow to begin with, until the system has found how much it can carry.
        array = seconds(lambda: client.radius(values, k=255, alpha="0.2", d=150528), 10)
        text = seconds(lambda: client.radius(numbers, k=255, alpha="0.2", d=150528), 2)
        if not np.array_equal(
            client.radius(values, k=255, alpha="0.2", d=150528).radii, index.radius(values, noise, 150528).radii
        ):
            raise SystemExit("the service differs from the index")
    for what, spent in ((".npy", array), ("JSON", text)):
        times = f"{spent * 1e3:.1f} ms / {direct * 1e3:.1f} ms"
        yield Measurement(f"100,000 p by client and service as {what} / by the index", f"{spent / direct:.2f}", times)


def _wrk(url: str) -> Load:
    options = ["-t1", f"-c{_CONNECTIONS}", f"-d{_SECONDS}s", "--latency", "-s", str(_HERE / "vary_p.lua")]
    command = ["wrk", *options, url]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    if "Non-2xx" in output:
        raise SystemExit(f"requests failed: {output}")
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    slow = re.search(r"99%\s+([\d.]+)(us|ms|s)", output)
    if rate is None or slow is None:
        raise SystemExit(f"wrk said {output}")
    return Load(float(rate[1]), float(slow[1]) * _UNITS[slow[2]])


@contextmanager
def _bare_route() -> Iterator[str]:
    port = free_port()
    options = [
        "--port",
        str(port),
        "--loop",
        "uvloop",
        "--http",
        "httptools",
        "--no-access-log",
        "--log-level",
        "error",
    ]
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(_HERE), "bare_route:app", *options]
    process = subprocess.Popen(command)
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                httpx2.get(f"{url}/v1/radius")
                break
            except httpx2.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    for line in service():
        print(f"{line.ratio:>9}  {line.what}  ({line.times})", flush=True)
