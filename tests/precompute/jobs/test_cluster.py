"""Jobs on a real Ray head: started once, with the code of the wheel, whoever else submits at the same time."""

import json
import os
import shlex
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from command_line import run_process
from precompute.ray_head import IMAGE_SAYS, Head, cluster as cluster, head as head, list_submission_ids

from ellzero.certificates import InvalidInput
from ellzero.core.errors import ClusterUnreachable
from ellzero.precompute.errors import NameTaken, UnknownJob
from ellzero.precompute.jobs.cluster import Cluster, ClusterJob, check_name
from ellzero.precompute.jobs.environment import make_runtime_env
from ellzero.precompute.jobs.wheel import build_wheel

QUICK = "thresholds --k 255 --alpha 0.2 --r-max 8"
OTHER = f"{QUICK} --digits 5"
NOWHERE = "http://127.0.0.1:1"
WAIT = 60
RAY_LINES = "Runtime env is setting up.\nRunning entrypoint for job x: python -m ellzero plan\n"


def test_driver_and_workers_run_the_code_of_the_wheel(head: Head, cluster: Cluster, tmp_path: Path) -> None:
    """The image has an ellzero of its own, which comes second; and no registry, which is not missed."""
    image = subprocess.run([head.python, "-m", "ellzero"], capture_output=True, text=True, check=True).stdout
    assert image == f"{IMAGE_SAYS}\n"
    wheel = build_wheel()
    archive = tmp_path / "ellzero.zip"
    archive.write_bytes(wheel.content)
    script = tmp_path / "where.py"
    script.write_text(
        "import json, ray\n"
        "def where():\n"
        "    from ellzero.precompute.jobs import wheel\n"
        "    return wheel.__file__, wheel.build_wheel().digest\n"
        "ray.init(log_to_driver=False, logging_level='ERROR')\n"
        "print(json.dumps([where(), ray.get(ray.remote(where).remote())]))\n"
    )
    env = make_runtime_env(archive, "tables")
    ray_id = cluster._client.submit_job(entrypoint=f"python {script}", runtime_env=env)
    deadline = time.monotonic() + WAIT
    while not (status := cluster._client.get_job_status(ray_id)).is_terminal() and time.monotonic() < deadline:
        time.sleep(0.2)
    log = cluster._client.get_job_logs(ray_id)
    assert status == "SUCCEEDED", log
    for file, digest in json.loads(log.splitlines()[-1]):
        assert Path(file).is_relative_to(head.folder / "ray")
        assert digest == wheel.digest


def test_a_cluster_that_cannot_meet_the_requirements_says_which(
    head: Head, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ellzero.precompute.jobs.environment.list_requirements", lambda extra: ["no-such-package-for-ellzero"]
    )
    cluster.submit("unmet", shlex.split(QUICK))
    code, out, err = run_process("jobs logs --follow unmet")
    assert (code, err.count("\n")) == (1, 1)
    assert "No matching distribution found for no-such-package-for-ellzero" in out
    assert err.startswith("ellzero: job unmet has failed: ")


def test_of_submits_at_the_same_time_one_starts_the_job_and_the_others_join(head: Head, cluster: Cluster) -> None:
    clusters = [Cluster(head.address) for _ in range(4)]
    gate = threading.Barrier(len(clusters))

    def submit(cluster: Cluster) -> bool:
        gate.wait(WAIT)
        return cluster.submit("race", shlex.split(QUICK)).new

    with ThreadPoolExecutor(len(clusters)) as threads:
        assert sorted(threads.map(submit, clusters)) == [False, False, False, True]
    assert list_submission_ids(cluster, "race") == ["race"]


def test_a_submit_that_looked_too_early_joins_the_job(
    head: Head, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cluster.submit("early", shlex.split(QUICK))
    find = Cluster._find_attempt
    looks = iter([False, True, False, True])  # each submit sees nothing at its first look

    def find_at_second_look(self: Cluster, name: str, command: list[str]) -> ClusterJob | None:
        return find(self, name, command) if next(looks) else None

    monkeypatch.setattr(Cluster, "_find_attempt", find_at_second_look)
    second = cluster.submit("early", shlex.split(QUICK))
    assert (second.new, second.job.details.submission_id) == (False, first.job.details.submission_id)
    with pytest.raises(NameTaken):
        cluster.submit("early", shlex.split(OTHER))


def test_jobs_of_others_are_left_alone(head: Head, cluster: Cluster) -> None:
    cluster._client.submit_job(entrypoint="true", submission_id="others")
    with pytest.raises(NameTaken, match="true"):
        cluster.submit("others", shlex.split(QUICK))
    with pytest.raises(UnknownJob):
        cluster.find_job("others")
    assert "others" not in [job.name for job in cluster.list_jobs()]


def test_an_explicit_address_comes_before_ray_s_variables(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.setenv(variable, NOWHERE)
    assert Cluster(f"{head.address}/").address == head.address
    assert os.environ["RAY_API_SERVER_ADDRESS"] == NOWHERE


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "ä", "a~2", "x" * 101])
def test_names_that_could_not_be_part_of_an_address_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_name(name)


@contextmanager
def serve_job(*replies: str) -> Iterator[str]:
    """The address of a head whose job ``x`` has each of the ``replies`` as its log in turn, and is over at the last.

    A reply of "broken" closes the connection, and "refused" is an internal error.
    """
    left = list(replies)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith("/logs"):
                reply = left.pop(0)
                if reply != "broken":
                    self.send({"logs": reply}, 500 if reply == "refused" else 200)
            elif self.path.endswith("/version"):
                self.send({"ray_version": "2.60.0"})
            else:
                status = "SUCCEEDED" if len(left) == 1 else "RUNNING"
                job = {"type": "SUBMISSION", "submission_id": "x", "entrypoint": "python -m ellzero plan"}
                self.send({**job, "status": status, "metadata": {"ellzero_code": ""}})

        def send(self, reply: object, status: int = 200) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(reply).encode())

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def follow(address: str) -> list[str]:
    cluster = Cluster(address)
    job = ClusterJob(cluster._client.get_job_info("x"))
    return [piece for piece in cluster.follow_log(job) if piece]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_SECONDS", "CONNECT_SECONDS"):
        monkeypatch.setattr(f"ellzero.precompute.jobs.cluster.{name}", 0.01)


@pytest.mark.usefixtures("impatient")
def test_failing_requests_lose_nothing_and_repeat_nothing_of_the_log() -> None:
    logs = [f"{RAY_LINES}{output}" for output in ("", "one\n", "one\ntw", "one\ntwo\nthree\n")]
    with serve_job("", RAY_LINES[:40], logs[0], logs[1], "broken", "refused", logs[2], logs[2], logs[3]) as address:
        assert follow(address) == ["one\n", "tw", "o\nthree\n"]


@pytest.mark.usefixtures("impatient")
def test_a_log_without_ray_s_lines_is_shown_at_the_end() -> None:
    with serve_job("some", "something\n") as address:
        assert follow(address) == ["something\n"]


@pytest.mark.usefixtures("impatient")
def test_a_cluster_that_falls_silent_ends_it() -> None:
    with serve_job(f"{RAY_LINES}one\n", *["broken"] * 9) as address, pytest.raises(ClusterUnreachable):
        follow(address)
