"""Jobs on a real Ray head: they print what the command prints here, run once, and can be joined, stopped, resumed."""

import json
import os
import pickle
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import Ellzero
from precompute.ray_head import IMAGE_SAYS, Head, ray_head

from ellzero.certificates import InvalidInput
from ellzero.cli.registry import COMMANDS
from ellzero.core.errors import ClusterRefused, ClusterUnreachable
from ellzero.core.install_hint import install_hint
from ellzero.precompute.errors import NameTaken, UnknownJob
from ellzero.precompute.jobs import ray_client
from ellzero.precompute.jobs.cluster import Cluster, Status, check_name, default_name, requirements, runtime_env
from ellzero.precompute.jobs.wheel import build_wheel
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.tables import Table

QUICK = "thresholds --k 255 --alpha 0.2 --r-max 8"
OTHER = f"{QUICK} --digits 5"
ENDLESS = "thresholds --k 255 --alpha 0.1 --r 1:40 --method paper --d 150528 --workers 1 --format csv"  # 25 hours
NOWHERE = "http://127.0.0.1:1"
WAIT = 60


@pytest.fixture(scope="module")
def head() -> Iterator[Head]:
    with ray_head() as started, pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_API_SERVER_ADDRESS", started.address)
        yield started


@pytest.fixture(scope="module")
def cluster(head: Head) -> Cluster:
    return Cluster(head.address)


def start(line: str) -> subprocess.Popen[str]:
    """``ellzero <line>`` in a process of its own."""
    command = [sys.executable, "-m", "ellzero", *shlex.split(line)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(line: str) -> tuple[int, str, list[str]]:
    with start(line) as process:
        out, err = process.communicate(timeout=WAIT)
    return process.returncode, out, err.splitlines()


def submission_ids(cluster: Cluster, name: str) -> list[str]:
    """What Ray itself holds of a name."""
    every = [job.submission_id or "" for job in cluster._client.list_jobs()]
    return sorted(found for found in every if found.split("~")[0] == name)


# What the cluster runs


def test_a_job_prints_what_the_command_prints_here(head: Head) -> None:
    code, out, err = run(f"submit --name here {QUICK}")
    assert (code, err) == (0, ["ellzero: job here is submitted"])
    assert out == run(QUICK)[1]
    assert run("jobs logs here") == (0, out, [])


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
    env = runtime_env(archive, "tables")
    ray_id = cluster._client.submit_job(entrypoint=f"python {script}", runtime_env=env)
    deadline = time.monotonic() + WAIT
    while not (status := cluster._client.get_job_status(ray_id)).is_terminal() and time.monotonic() < deadline:
        time.sleep(0.2)
    log = cluster._client.get_job_logs(ray_id)
    assert status == "SUCCEEDED", log
    for file, digest in json.loads(log.splitlines()[-1]):
        assert Path(file).is_relative_to(head.folder / "ray")
        assert digest == wheel.digest


def test_a_table_is_computed_by_the_cluster_s_workers(head: Head, tmp_path: Path) -> None:
    grid = "precompute --k 1,255 --alpha 0.8 --r-max 5"
    code, out, err = run(f"submit --name table {grid} --executor ray --out {tmp_path / 'there'}")
    assert (code, err) == (0, ["ellzero: job table is submitted"]), out
    assert "executor ray" in out
    run(f"{grid} --executor local --out {tmp_path / 'here'}")
    there, here = (Table.open(str(tmp_path / name)).extents() for name in ("there", "here"))
    assert there == here


def test_a_job_asks_the_cluster_for_what_its_command_needs_and_no_more() -> None:
    """A cluster that computes tables is not made to install torch."""
    names = {
        command: {re.split("[<>=]", line)[0] for line in requirements(COMMANDS[command].extra)}
        for command in ("precompute", "certify")
    }
    assert {"pyarrow", "gmpy2"} < names["precompute"]
    assert not {"torch", "ray", "fastapi"} & names["precompute"]
    assert {"torch", "safetensors", "pyarrow", "gmpy2"} < names["certify"]
    assert "ray" not in names["certify"]


def test_a_data_set_is_certified_by_the_cluster_s_actors(head: Head, tmp_path: Path) -> None:
    model = tmp_path / "digits.safetensors"
    assert run(f"train --binarize 8 --alpha 0.9 --epochs 1 --out {model}")[0] == 0
    line = f"certify --model {model} --n 200 --limit 20 --seed 1"
    code, out, err = run(f"submit --name certified {line} --executor ray --out {tmp_path / 'there'}")
    assert code == 0, (out, err)
    run(f"{line} --executor local --out {tmp_path / 'here'}")
    there, here = (ResultStore(str(tmp_path / name)).table().drop_columns(["seconds"]) for name in ("there", "here"))
    assert there == here


def test_a_cluster_that_cannot_meet_the_requirements_says_which(
    head: Head, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ellzero.precompute.jobs.cluster.requirements", lambda command: ["no-such-package-for-ellzero"])
    cluster.submit("unmet", shlex.split(QUICK))
    code, out, err = run("jobs logs --follow unmet")
    assert code == 1
    assert "No matching distribution found for no-such-package-for-ellzero" in out
    assert len(err) == 1
    assert err[0].startswith("ellzero: job unmet has failed: ")


# Joining, stopping, starting again


def test_the_same_command_again_shows_the_result_without_running_it(head: Head, cluster: Cluster) -> None:
    name = default_name(shlex.split(QUICK))
    first, again = run(f"submit {QUICK}"), run(f"submit {QUICK}")
    assert first[2][0] == f"ellzero: job {name} is submitted"
    assert again[2][0] == f"ellzero: job {name} has succeeded already"
    assert first[:2] == again[:2] == (0, run(QUICK)[1])
    assert submission_ids(cluster, name) == [name]
    assert default_name(shlex.split(OTHER)) != name


def test_a_running_job_is_joined_and_stopped_and_started_again(head: Head, cluster: Cluster) -> None:
    assert run(f"submit --name endless --no-wait {ENDLESS}") == (0, "endless\n", ["ellzero: job endless is submitted"])
    with start(f"submit --name endless {ENDLESS}") as joined:
        assert joined.stdout is not None
        assert "r,threshold\n" in iter(joined.stdout.readline, "")
        assert run("jobs stop endless") == (0, "", ["ellzero: job endless is stopped"])
        _, err = joined.communicate(timeout=WAIT)
    assert joined.returncode == 1
    assert err.splitlines()[0] in ("ellzero: job endless is running already", "ellzero: job endless is pending already")
    assert err.splitlines()[-1] == "ellzero: job endless has been stopped"
    assert run("jobs stop endless") == (0, "", ["ellzero: job endless needed no stop: it has been stopped"])
    assert submission_ids(cluster, "endless") == ["endless"]
    again = cluster.submit("endless", shlex.split(ENDLESS))
    assert (again.new, again.job.attempt) == (True, 2)
    assert again.previous is not None
    assert again.previous.status is Status.STOPPED
    assert cluster.stop(again.job).status is Status.STOPPED


def test_an_interruption_leaves_the_job_running(head: Head, cluster: Cluster) -> None:
    with start(f"submit --name left {ENDLESS}") as process:
        assert process.stdout is not None
        assert "r,threshold\n" in iter(process.stdout.readline, "")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT)
    assert process.returncode == 130
    stop = f"ellzero jobs stop --address {head.address} left"
    assert err.splitlines()[-1] == f"ellzero: job left goes on; to stop it: {stop}"
    assert cluster.find("left").status is Status.RUNNING
    assert cluster.stop(cluster.find("left")).status is Status.STOPPED


def test_a_failed_job_is_started_again_under_its_name(head: Head, cluster: Cluster, tmp_path: Path) -> None:
    """The second attempt follows at once: Ray's watch over the first must not take it for the same."""
    figure = tmp_path / "later" / "figure.svg"
    command = f"plot thresholds --k 255 --alpha 0.2 --r-max 3 --out {figure}"
    code, out, err = run(f"submit --name retried {command}")
    assert (code, err) == (1, ["ellzero: job retried is submitted", "ellzero: job retried has failed with exit code 2"])
    assert out.startswith("ellzero: --out must be in a folder that exists")
    assert out.count("\n") == 1
    figure.parent.mkdir()
    again = run(f"submit --name retried {command}")
    notify = "ellzero: job retried has failed with exit code 2: submitted again, attempt 2"
    assert again == (0, f"{figure}\n", [notify])
    assert figure.exists()
    assert submission_ids(cluster, "retried") == ["retried", "retried~2"]
    assert run("jobs logs --follow retried") == (0, f"{figure}\n", [])


def test_of_submits_at_the_same_time_one_starts_the_job_and_the_others_join(head: Head, cluster: Cluster) -> None:
    clusters = [Cluster(head.address) for _ in range(4)]
    gate = threading.Barrier(len(clusters))

    def submit(cluster: Cluster) -> bool:
        gate.wait(WAIT)
        return cluster.submit("race", shlex.split(QUICK)).new

    with ThreadPoolExecutor(len(clusters)) as threads:
        assert sorted(threads.map(submit, clusters)) == [False, False, False, True]
    assert submission_ids(cluster, "race") == ["race"]


def test_who_looked_too_early_joins_as_well(head: Head, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cluster.submit("early", shlex.split(QUICK))
    latest = Cluster._latest
    looks = iter([False, True, False, True])  # each submit sees nothing at its first look

    monkeypatch.setattr(Cluster, "_latest", lambda self, name: latest(self, name) if next(looks) else None)
    second = cluster.submit("early", shlex.split(QUICK))
    assert (second.new, second.job.submission_id) == (False, first.job.submission_id)
    with pytest.raises(NameTaken):
        cluster.submit("early", shlex.split(OTHER))


def test_a_name_belongs_to_one_command(head: Head, cluster: Cluster, ellzero: Ellzero) -> None:
    cluster.submit("mine", shlex.split(QUICK))
    taken = f"the name mine belongs to a job with another command, so choose another name: {QUICK}"
    assert ellzero(f"submit --name mine {OTHER}") == (1, "", f"ellzero: {taken}\n")


def test_jobs_of_others_are_left_alone(head: Head, cluster: Cluster) -> None:
    cluster._client.submit_job(entrypoint="true", submission_id="others")
    with pytest.raises(NameTaken, match="true"):
        cluster.submit("others", shlex.split(QUICK))
    with pytest.raises(UnknownJob):
        cluster.find("others")
    assert "others" not in [job.name for job in cluster.jobs()]


def test_a_job_of_other_code_is_joined_with_a_notice(
    head: Head, cluster: Cluster, ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit("coded", shlex.split(QUICK))
    monkeypatch.setattr("ellzero.precompute.jobs.cluster.build_wheel", lambda: SimpleNamespace(digest="another"))
    again = ellzero(f"submit --name coded --no-wait {QUICK}")
    assert (again.code, again.out) == (0, "coded\n")
    warning = "ellzero: job coded was submitted with code that differs from the one installed here"
    assert again.err.splitlines()[1:] == [warning]


# Lists and mistakes


def test_the_list_has_the_newest_first(head: Head, cluster: Cluster, ellzero: Ellzero) -> None:
    for name in ("older", "newer"):
        cluster.submit(name, shlex.split(QUICK))
    lines = ellzero("jobs list").out.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "ATTEMPT", "STARTED", "(UTC)", "TOOK", "COMMAND"]
    assert [line.split()[0] for line in lines[1:3]] == ["newer", "older"]
    assert lines[1].endswith(QUICK)
    newest = json.loads(ellzero("jobs list --json").out)[0]
    assert (newest["name"], newest["attempt"], newest["command"]) == ("newer", 1, shlex.split(QUICK))
    assert newest["status"] in ("pending", "running", "succeeded")
    assert newest["seconds"] >= 0


def test_a_cluster_without_jobs_says_so(head: Head, ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "_details", lambda self: [])
    assert ellzero("jobs list") == (0, "", f"ellzero: no jobs at {head.address}\n")
    assert ellzero("jobs list --json") == (0, "[]\n", "")


def test_the_address_that_is_given_comes_before_ray_s_variables(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        monkeypatch.setenv(variable, NOWHERE)
    assert Cluster(f"{head.address}/").address == head.address
    assert os.environ["RAY_API_SERVER_ADDRESS"] == NOWHERE


@pytest.mark.parametrize("line", ["jobs logs nobody", "jobs logs --follow nobody", "jobs stop nobody"])
def test_an_unknown_name_is_one_line(head: Head, ellzero: Ellzero, line: str) -> None:
    assert ellzero(line) == (1, "", f"ellzero: no job called nobody at {head.address}\n")


@pytest.mark.parametrize("line", [f"submit --address {NOWHERE} {QUICK}", f"jobs list --address {NOWHERE}"])
def test_an_address_where_nobody_listens_is_one_line(ellzero: Ellzero, line: str) -> None:
    assert ellzero(line) == (1, "", f"ellzero: no Ray cluster answers at {NOWHERE}\n")


def test_an_address_that_never_answers_is_given_up(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_client, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert ellzero(f"jobs list --address {address}") == (1, "", f"ellzero: no Ray cluster answers at {address}\n")


@pytest.mark.parametrize(("status", "body"), [(404, b""), (500, b""), (200, b"hello"), (200, b"[]"), (200, b"{}")])
def test_a_server_that_is_not_ray_is_one_line(ellzero: Ellzero, status: int, body: bytes) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            found = ellzero(f"jobs list --address {address}")
        finally:
            server.shutdown()
            thread.join()
    assert found == (1, "", f"ellzero: no Ray cluster answers at {address}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"submit --address {NOWHERE} nonsense --k 1", "no command 'nonsense' that could be a job; there are certify,"),
        (f"submit --address {NOWHERE} submit {QUICK}", "no command 'submit' that could be a job"),
        (f"submit --address {NOWHERE} jobs list", "no command 'jobs' that could be a job"),
        (f"submit --nonsense {QUICK}", "No such option '--nonsense'"),
        ("submit", "Missing argument 'COMMAND'."),
        (f"submit --name a~2 {QUICK}", "--name must be at most 100 letters, digits, '.', '_' and '-'"),
        (f"submit --address head:8265 {QUICK}", "--address must be the HTTP address of a Ray head"),
        ("jobs list --address auto", "--address must be the HTTP address of a Ray head"),
        ("jobs logs", "Missing argument 'NAME'."),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_sent(ellzero: Ellzero, line: str, message: str) -> None:
    found = ellzero(line)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith(f"ellzero: {message}")
    assert found.err.count("\n") == 1


def test_without_ray_the_commands_say_what_to_install(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    needs = f"ellzero: submitting jobs needs an optional dependency: {install_hint('cluster')}\n"
    assert ellzero(f"submit --address {NOWHERE} {QUICK}") == (1, "", needs)
    assert "--follow" in ellzero("jobs logs --help").out


def test_the_commands_are_listed_without_importing_ray() -> None:
    code = "import sys, ellzero.cli.submit; print([name for name in sys.modules if name.startswith('ray')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "ä", "a~2", "x" * 101])
def test_names_that_could_not_be_part_of_an_address_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_name(name)


def test_what_the_head_refuses_is_one_line() -> None:
    refusal = "the Ray cluster at there refused: ValueError: no"
    with pytest.raises(ClusterRefused, match=f"^{refusal}$"), ray_client.asking("there"):
        raise RuntimeError("Request failed with status code 500: Traceback:\n  File x\nValueError: no\n")


def test_errors_survive_pickling() -> None:
    errors = ClusterUnreachable("a"), ClusterRefused("a", "b"), UnknownJob("a", "b"), NameTaken("a", "b")
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
