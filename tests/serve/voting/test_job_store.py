"""Jobs are answered for by every worker, and a job whose process has ended is lost."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from client.loopback import serving
from serve.running import Running, running
from serve.voting_models import (
    LONG,
    PATIENCE,
    X,
    add_model,
    post,
    start_job,
)

from ellzero.certificates import InvalidInput
from ellzero.client import Client, JobEnded
from ellzero.serve import ServeSettings, create_app
from ellzero.serve.voting.job_store import JobStore


def get_job(service: Running, job: str, wait: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = httpx2.get(f"{service.url}/v1/jobs/{job}?wait={wait}", timeout=PATIENCE).json()
    return answer


def cancel_job(service: Running, job: str) -> str:
    state: str = httpx2.delete(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"]
    return state


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_whose_service_ended_is_lost(folder: Path, tmp_path: Path, how: signal.Signals) -> None:
    with running(tmp_path / "log", settings={"models": folder, "jobs": tmp_path / "jobs"}) as service:
        job = start_job(service.url)
        service.process.send_signal(how)
        service.process.wait(PATIENCE)
    settings = ServeSettings(models=str(folder), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url, Client(url) as client:
        state = client.job(job).state()
        assert state is not None
        assert (state.state, state.reason) == ("lost", "the service ended before the job did; submit it again")
        with pytest.raises(JobEnded, match="is lost"):
            client.job(job).result()


def test_every_worker_answers_for_every_job(two_workers: Running) -> None:
    for job in [start_job(two_workers.url) for _ in range(2)]:
        assert {get_job(two_workers, job)["state"] for _ in range(20)} <= {"waiting", "running"}
        assert cancel_job(two_workers, job) == "cancelled"
        assert {get_job(two_workers, job)["state"] for _ in range(20)} == {"cancelled"}
    short = post(two_workers.url, "certify", model="small", x=X[0].tolist(), n=50_000, wait=0, seed=1).json()["id"]
    assert {get_job(two_workers, short, wait=20)["state"] for _ in range(20)} == {"done"}


def test_jobs_of_several_workers_survive_a_reload(two_workers: Running) -> None:
    job = start_job(two_workers.url)
    add_model(two_workers.log.parent, "other", seed=2)
    two_workers.process.send_signal(signal.SIGHUP)
    for _ in range(200):  # until both workers have it, as far as twenty answers show
        answers = [httpx2.get(f"{two_workers.url}/v1/models", timeout=PATIENCE).json()["models"] for _ in range(20)]
        if {len(models) for models in answers} == {3}:
            break
        time.sleep(0.05)
    assert {len(models) for models in answers} == {3}
    for _ in range(200):  # a busy machine may take a while until the first vote
        state = get_job(two_workers, job)["state"]
        if state != "waiting":
            break
        time.sleep(0.05)
    assert state == "running"
    assert cancel_job(two_workers, job) == "cancelled"


def test_workers_answer_for_jobs_of_the_bundled_model_without_loading_it(tmp_path: Path) -> None:
    settings = {"jobs": tmp_path / "jobs", "workers": 2}
    x = np.zeros((1, 8, 8), int).tolist()
    with running(tmp_path / "log", settings=settings) as service:
        job = post(service.url, "certify", model="demo-digits", x=x, n=LONG, wait=0, stopping="never").json()["id"]
        assert {get_job(service, job)["state"] for _ in range(20)} <= {"waiting", "running"}
        assert cancel_job(service, job) == "cancelled"


def test_the_last_record_of_a_job_says_that_it_is_done(voting: Running, folder: Path) -> None:
    """Even if it is done before its first record is written."""
    jobs = [post(voting.url, "certify", model="small", x=X[0].tolist(), n=n, wait=0) for n in (1, 200, 5_000)]
    for job in (answer.json()["id"] for answer in jobs if answer.status_code == 202):
        httpx2.get(f"{voting.url}/v1/jobs/{job}?wait=20", timeout=PATIENCE)
        for _ in range(200):
            if json.loads((folder / "jobs" / f"{job}.json").read_bytes())["state"] == "done":
                break
            time.sleep(0.05)
        assert json.loads((folder / "jobs" / f"{job}.json").read_bytes())["state"] == "done"


@pytest.mark.parametrize(("silent", "state"), [(5, "running"), (120, "lost")])
def test_a_job_of_another_machine_is_lost_once_its_record_is_stale(tmp_path: Path, silent: float, state: str) -> None:
    store, job = JobStore(str(tmp_path)), "a" * 32
    store.write(job, {"state": "running"})
    record = json.loads((tmp_path / f"{job}.json").read_bytes())
    record["owner"] |= {"host": "another", "written": time.time() - silent}
    (tmp_path / f"{job}.json").write_text(json.dumps(record))
    result = store.read(job)
    assert result is not None
    assert result["state"] == state


def test_the_default_job_folder_must_be_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    JobStore(None).write("a" * 32, {"state": "done"})
    (place,) = tmp_path.iterdir()
    place.chmod(0o777)
    with pytest.raises(InvalidInput, match="jobs must be given, because others have access"):
        JobStore(None)
