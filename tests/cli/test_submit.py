"""``ellzero submit`` on a real Ray head: it prints what the command prints here, runs it once, and can be joined."""

import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import PROCESS_SECONDS, Ellzero, run_process, start_process
from precompute.ray_head import Head, cluster as cluster, head as head, list_submission_ids

from ellzero.core.install_hint import install_hint
from ellzero.precompute.jobs.cluster import Cluster, default_name
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.tables import Table

QUICK = "thresholds --k 255 --alpha 0.2 --r-max 8"
OTHER = f"{QUICK} --digits 5"
ENDLESS = "thresholds --k 255 --alpha 0.1 --r 1:40 --method paper --d 150528 --workers 1 --format csv"  # 25 hours
NOWHERE = "http://127.0.0.1:1"


def test_a_job_prints_what_the_command_prints_here(head: Head) -> None:
    code, out, err = run_process(f"submit --name here {QUICK}")
    assert (code, err) == (0, "ellzero: job here is submitted\n")
    assert out == run_process(QUICK).out
    assert run_process("jobs logs here") == (0, out, "")


def test_a_table_is_computed_by_the_cluster_s_workers(head: Head, tmp_path: Path) -> None:
    grid = "precompute --k 1,255 --alpha 0.8 --r-max 5"
    code, out, err = run_process(f"submit --name table {grid} --executor ray --out {tmp_path / 'there'}")
    assert (code, err) == (0, "ellzero: job table is submitted\n"), out
    assert "executor ray" in out
    run_process(f"{grid} --executor local --out {tmp_path / 'here'}")
    there, here = (Table.open(str(tmp_path / name)).extents() for name in ("there", "here"))
    assert there == here


def test_a_data_set_is_certified_by_the_cluster_s_actors(head: Head, tmp_path: Path) -> None:
    model = tmp_path / "digits.safetensors"
    assert run_process(f"train --binarize 8 --alpha 0.9 --epochs 1 --out {model}")[0] == 0
    line = f"certify --model {model} --n 200 --limit 20 --seed 1"
    code, out, err = run_process(f"submit --name certified {line} --executor ray --out {tmp_path / 'there'}")
    assert code == 0, (out, err)
    run_process(f"{line} --executor local --out {tmp_path / 'here'}")
    there, here = (ResultStore(str(tmp_path / name)).table().drop_columns(["seconds"]) for name in ("there", "here"))
    assert there == here


def test_the_same_command_again_shows_the_result_without_running_it(head: Head, cluster: Cluster) -> None:
    name = default_name(shlex.split(QUICK))
    first, again = run_process(f"submit {QUICK}"), run_process(f"submit {QUICK}")
    assert first.err == f"ellzero: job {name} is submitted\n"
    assert again.err == f"ellzero: job {name} has succeeded already\n"
    assert first[:2] == again[:2] == (0, run_process(QUICK).out)
    assert list_submission_ids(cluster, name) == [name]
    assert default_name(shlex.split(OTHER)) != name


def test_a_running_job_is_joined_and_stopped_and_started_again(head: Head, cluster: Cluster) -> None:
    submit = run_process(f"submit --name endless --no-wait {ENDLESS}")
    assert submit == (0, "endless\n", "ellzero: job endless is submitted\n")
    with start_process(f"submit --name endless {ENDLESS}") as joined:
        assert joined.stdout is not None
        assert "r,threshold\n" in iter(joined.stdout.readline, "")
        assert run_process("jobs stop endless") == (0, "", "ellzero: job endless is stopped\n")
        _, err = joined.communicate(timeout=PROCESS_SECONDS)
    assert joined.returncode == 1
    assert err.splitlines()[0] in ("ellzero: job endless is running already", "ellzero: job endless is pending already")
    assert err.splitlines()[-1] == "ellzero: job endless has been stopped"
    assert run_process("jobs stop endless") == (0, "", "ellzero: job endless needed no stop: it has been stopped\n")
    assert list_submission_ids(cluster, "endless") == ["endless"]
    again = cluster.submit("endless", shlex.split(ENDLESS))
    assert (again.new, again.job.attempt) == (True, 2)
    assert again.previous is not None
    assert again.previous.status == "stopped"
    assert cluster.stop(again.job).status == "stopped"


def test_an_interruption_leaves_the_job_running(head: Head, cluster: Cluster) -> None:
    with start_process(f"submit --name left {ENDLESS}") as process:
        assert process.stdout is not None
        assert "r,threshold\n" in iter(process.stdout.readline, "")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PROCESS_SECONDS)
    assert process.returncode == 130
    stop = f"ellzero jobs stop --address {head.address} left"
    assert err.splitlines()[-1] == f"ellzero: job left keeps running; to stop it: {stop}"
    assert cluster.find_job("left").status == "running"
    assert cluster.stop(cluster.find_job("left")).status == "stopped"


def test_a_failed_job_is_started_again_under_its_name(head: Head, cluster: Cluster, tmp_path: Path) -> None:
    """The second attempt follows at once: Ray's watch over the first must not take it for the same."""
    figure = tmp_path / "later" / "figure.svg"
    command = f"plot thresholds --k 255 --alpha 0.2 --r-max 3 --out {figure}"
    code, out, err = run_process(f"submit --name retried {command}")
    assert code == 1
    assert err == "ellzero: job retried is submitted\nellzero: job retried has failed with exit code 2\n"
    assert out.startswith("ellzero: --out must be in a folder that exists")
    assert out.count("\n") == 1
    figure.parent.mkdir()
    again = run_process(f"submit --name retried {command}")
    notice = "ellzero: job retried has failed with exit code 2: submitted again, attempt 2"
    assert again == (0, f"{figure}\n", f"{notice}\n")
    assert figure.exists()
    assert list_submission_ids(cluster, "retried") == ["retried", "retried~2"]
    assert run_process("jobs logs --follow retried") == (0, f"{figure}\n", "")


def test_a_name_belongs_to_one_command(head: Head, cluster: Cluster, ellzero: Ellzero) -> None:
    cluster.submit("mine", shlex.split(QUICK))
    message = f"the name mine belongs to a job with another command, so choose another name: {QUICK}"
    assert ellzero(f"submit --name mine {OTHER}") == (1, "", f"ellzero: {message}\n")


def test_a_job_of_other_code_is_joined_with_a_notice(
    head: Head, cluster: Cluster, ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit("coded", shlex.split(QUICK))
    monkeypatch.setattr("ellzero.precompute.jobs.cluster.build_wheel", lambda: SimpleNamespace(digest="another"))
    again = ellzero(f"submit --name coded --no-wait {QUICK}")
    assert (again.code, again.out) == (0, "coded\n")
    warning = "ellzero: job coded was submitted with code that differs from the one installed here"
    assert again.err.splitlines()[1:] == [warning]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"submit --address {NOWHERE} nonsense --k 1", "no command 'nonsense' that could be a job; there are advise,"),
        (f"submit --address {NOWHERE} submit {QUICK}", "no command 'submit' that could be a job"),
        (f"submit --address {NOWHERE} jobs list", "no command 'jobs' that could be a job"),
        (f"submit --nonsense {QUICK}", "No such option '--nonsense'"),
        ("submit", "Missing argument 'COMMAND'."),
        (f"submit --name a~2 {QUICK}", "--name must be at most 100 letters, digits, '.', '_' and '-'"),
        (f"submit --address head:8265 {QUICK}", "--address must be the HTTP address of a Ray head"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_sent(ellzero: Ellzero, line: str, message: str) -> None:
    code, out, err = ellzero(line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"ellzero: {message}")


def test_without_ray_the_commands_say_what_to_install(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray.job_submission", None)
    needs = f"ellzero: submitting jobs needs an optional dependency: {install_hint('cluster')}\n"
    assert ellzero(f"submit --address {NOWHERE} {QUICK}") == (1, "", needs)
    assert "--follow" in ellzero("jobs logs --help").out


def test_the_commands_are_listed_without_importing_ray() -> None:
    code = "import sys, ellzero.cli.submit; print([name for name in sys.modules if name.startswith('ray')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
