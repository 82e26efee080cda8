"""A real Ray head on loopback, in processes of its own, whose image is not the one that tests run in."""

import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from precompute.bare_python import BarePython

from ellzero.precompute.jobs.cluster import Cluster

START_SECONDS = 90
END_SECONDS = 20
# Everything that the head starts inherits this variable, by which all of it is found again.
MARK = "ELLZERO_TEST_HEAD"
IMAGE_SAYS = "the ellzero of the cluster's image"


@dataclass(frozen=True)
class Head:
    """Where the head answers, the folder in which it keeps everything, and the Python of its image."""

    address: str
    folder: Path
    python: Path


@contextmanager
def ray_head() -> Iterator[Head]:
    """A head that runs until the end of the block, and of which no process is left then.

    Its image has all that ellzero needs and an ellzero of another version; its pip knows no registry.
    """
    # Ray's sockets lie deep in this folder, and their paths may have 107 bytes.
    with tempfile.TemporaryDirectory(prefix="e0-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        bare = BarePython(folder / "venv")
        _install_another_ellzero(bare.packages)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "PIP_"))}
        environment |= {
            MARK: name,
            "PIP_NO_INDEX": "1",
            "RAY_AUTH_MODE": "disabled",
            "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        dashboard, client = _free_ports(2)
        options = {
            "port": 0,
            "node-ip-address": "127.0.0.1",
            "include-dashboard": "true",
            "dashboard-host": "127.0.0.1",
            "dashboard-port": dashboard,
            "dashboard-agent-listen-port": 0,
            "ray-client-server-port": client,
            "min-worker-port": 0,
            "max-worker-port": 0,
            "num-cpus": 2,
            "object-store-memory": 100_000_000,
            "temp-dir": folder / "ray",
        }
        command = [str(bare.executable), "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += [f"--{key}={value}" for key, value in options.items()]
        log = folder / "head.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=folder, start_new_session=True
            )
        address = f"http://127.0.0.1:{dashboard}"
        try:
            _wait_for(address, process, log)
            yield Head(address, folder, bare.executable)
        finally:
            _end(process, name)


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    """A head for the tests of one module, at the address that commands use by default."""
    with ray_head() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_API_SERVER_ADDRESS", started.address)
        yield started


@pytest.fixture(scope="module")
def cluster(head: Head) -> Cluster:
    return Cluster(head.address)


def list_submission_ids(cluster: Cluster, name: str) -> list[str]:
    """Ray's own ids of the attempts at the job called ``name``."""
    ids = [job.submission_id or "" for job in cluster._client.list_jobs()]
    return sorted(submission_id for submission_id in ids if submission_id.split("~")[0] == name)


def _install_another_ellzero(packages: Path) -> None:
    package = packages / "ellzero"
    (package / "client").mkdir(parents=True)
    (package / "__main__.py").write_text(f"print({IMAGE_SAYS!r})\n")
    (package / "client" / "__init__.py").write_text("")
    info = packages / "ellzero-99.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ellzero\nVersion: 99\n")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/api/version", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"Ray did not start:\n{log.read_text()}")


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End the head, and by their ids whatever of its processes is left after that."""
    process.terminate()
    deadline = time.monotonic() + END_SECONDS
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(END_SECONDS)
    deadline = time.monotonic() + END_SECONDS
    while (left := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left, f"processes of the head are left: {left}"


def _marked(mark: str) -> list[int]:
    """The processes that descend from the head. One that has ended has no environment any more."""
    variable = f"{MARK}={mark}".encode()
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                pids.append(int(folder.name))
        except OSError:
            continue
    return pids
