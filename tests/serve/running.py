"""The service as tests run it: a real process on a free port of loopback, ended by its pid."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

_PATIENCE = 60.0


@dataclass
class Running:
    """A service under way."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def memory(self, field: str = "VmRSS") -> int:
        """Bytes of the process, from /proc: VmRSS now, VmHWM at most so far."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
        raise AssertionError(field)

    def metric(self, name: str) -> float:
        """The sum of all samples of a metric."""
        text = httpx2.get(f"{self.url}/metrics").text
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    log: Path, *arguments: str, settings: Mapping[str, object] | None = None, wait: str = "/readyz"
) -> Iterator[Running]:
    """``ellzero serve`` with these arguments and settings, until the block ends."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "ellzero"), "serve", "--port", str(port), *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ELLZERO_")}
    environment |= {f"ELLZERO_SERVE_{name.upper()}": str(value) for name, value in (settings or {}).items()}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
    service = Running(f"http://127.0.0.1:{port}", process, log)
    try:
        _await(service, wait)
        yield service
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(service: Running, path: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        if service.process.poll() is not None:
            raise AssertionError(f"the service ended: {service.log.read_text()}")
        try:
            if httpx2.get(service.url + path).status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the service does not answer: {service.log.read_text()}")
