"""Votes over HTTP become jobs that can be polled and cancelled, share batches, and respect the limits."""

import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from client.loopback import serving
from serve.running import Running, running
from serve.voting_models import (
    LONG,
    PATIENCE,
    X,
    add_model,
    make_classifier,
    post,
    start_job,
)

from ellzero.audit import verify_document
from ellzero.client import AsyncClient, CertifyAnswer, Client, JobAnswer, JobEnded, ProblemReply
from ellzero.core.errors import MissingExtra
from ellzero.serve import ServeSettings, create_app
from ellzero.smoothing import CertifySettings
from ellzero.smoothing.sampling.sampling_task import CertifyTask


def test_a_long_request_becomes_a_job_with_the_same_result(voting: Running, folder: Path) -> None:
    answer = post(voting.url, "certify", model="small", x=X[0].tolist(), n=60_000, wait=0, seed=5, stopping="never")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["kind"], job["votes_at_most"]) == ("certify", 60_100)
    assert job["state"] in ("waiting", "running", "done")  # it may end while its record is written
    url = f"{voting.url}/v1/jobs/{job['id']}"
    over = httpx2.get(url, params={"wait": 20}, timeout=PATIENCE).json()
    assert over["state"] == "done"
    assert over["votes"] == 60_100
    (expected,) = make_classifier(folder).certify_many([X[0]], CertifySettings.of(100, 60_000, "0.001", 5, "never"))
    (result,) = over["certificate"]["results"]
    assert (result["radius"], tuple(result["counts"])) == (expected.radius, expected.counts)
    assert httpx2.get(url).json() == over  # it stays


def test_a_running_job_shows_its_progress_and_can_be_cancelled(voting: Running) -> None:
    job = start_job(voting.url)
    url, votes_so_far = f"{voting.url}/v1/jobs/{job}", []
    for _ in range(200):
        result = httpx2.get(url).json()
        votes_so_far.append(result["votes"])
        if result["eta_seconds"] is not None and len(set(votes_so_far)) > 2:
            break
        time.sleep(0.05)
    assert votes_so_far == sorted(votes_so_far)
    assert len(set(votes_so_far)) > 2
    assert sum(result["counts"][0]) > 0
    assert result["state"] == "running"
    assert httpx2.delete(url).json()["state"] == "cancelled"
    assert httpx2.delete(url).json()["state"] == "cancelled"
    assert httpx2.get(url, params={"wait": 5}).json()["state"] == "cancelled"


def test_a_short_request_is_answered_while_a_long_job_runs(voting: Running) -> None:
    job = start_job(voting.url)
    answer = post(voting.url, "certify", model="small", x=X[1].tolist(), n=500, wait=20)
    assert answer.status_code == 200
    assert httpx2.delete(f"{voting.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] == "cancelled"


def test_the_client_waits_shows_progress_or_returns_a_job(voting: Running) -> None:
    states: list[JobAnswer] = []
    with Client(voting.url) as client:
        answer = client.certify("small", X[0], n=400_000, seed=3, stopping="never", progress=states.append)
        assert isinstance(answer, CertifyAnswer)
        job = client.certify("small", X[0], n=400_000, seed=3, stopping="never", wait=False)
        assert job.id is not None
        later = client.job(job.id).result()
        assert isinstance(later, CertifyAnswer)
        assert later.results == answer.results
        endless = client.certify("small", X[0], n=LONG, stopping="never", wait=False)
        cancelled = endless.cancel()
        assert cancelled is not None
        assert cancelled.state == "cancelled"
        with pytest.raises(JobEnded, match="is cancelled: it was cancelled"):
            endless.result()
    assert not states or states[-1].state == "done"


def test_a_client_with_a_short_timeout_can_wait_for_a_long_job(voting: Running) -> None:
    with Client(voting.url) as patient, Client(voting.url, timeout=1.5) as hasty:
        options: dict[str, Any] = {"n": 500_000, "seed": 3, "stopping": "never"}
        assert hasty.certify("small", X[0], **options).results == patient.certify("small", X[0], **options).results
        assert hasty.predict("small", X[0], n=50, seed=1).n == 50


def count_cancelled_jobs(service: Running) -> float:
    return service.metric('ellzero_jobs_total{kind="certify",state="cancelled"}')


def test_votes_are_cancelled_if_the_client_disconnects_before_it_gets_a_job_id(voting: Running) -> None:
    before = count_cancelled_jobs(voting)
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            f"{voting.url}/v1/certify",
            json={"model": "small", "x": X[0].tolist(), "n": LONG, "stopping": "never", "wait": 2},
            timeout=0.5,
        )
    for _ in range(200):
        if count_cancelled_jobs(voting) == before + 1:
            break
        time.sleep(0.05)
    assert count_cancelled_jobs(voting) == before + 1


def test_the_asynchronous_client_does_the_same(voting: Running) -> None:
    async def call() -> None:
        async with AsyncClient(voting.url) as client:
            assert len((await client.models()).models) == 7
            answer = await client.certify("small", X[0], n=2_000, seed=3)
            job = await client.certify("small", X[0], n=2_000, seed=3, wait=False)
            later = await job.result(lambda _: None)
            assert isinstance(later, CertifyAnswer)
            assert later.results == answer.results
            endless = await client.certify("small", X[0], n=LONG, stopping="never", wait=False)
            state = await endless.state()
            assert state is not None
            assert state.state in ("waiting", "running")
            await endless.cancel()
            assert (await client.predict("small", X[0], n=50, seed=1)).n == 50

    anyio.run(call)


@pytest.mark.parametrize("stopping", ["settled", "staged"])
def test_an_answer_has_documents_that_others_verify(voting: Running, stopping: str) -> None:
    with Client(voting.url) as client:
        answer = client.certify("small", X[:2], n=3_000, seed=3, stopping=stopping, certificate=True)
        without = client.certify("small", X[:2], n=3_000, seed=3, stopping=stopping)
    assert all(result.document is None for result in without.results)
    documented = [result for result in answer.results if result.radius is not None]
    assert documented
    for result in answer.results:
        assert (result.document is None) is (result.radius is None)
    for result in documented:
        document = verify_document(str(result.document).encode()).document
        assert (document.certified[0].budget, document.selected) == (result.radius, result.selected)
        assert (document.model_sha256, document.seed) == (answer.sha256, answer.seed)
    assert answer.results[0].document != answer.results[1].document


def test_concurrent_requests_share_batches(voting: Running) -> None:
    before = {name: voting.metric(name) for name in ("ellzero_votes_total", "ellzero_batch_fill_count")}
    ballast = start_job(voting.url)

    def call(seed: int) -> int:
        return post(voting.url, "certify", model="small", x=X[0].tolist(), n0=50, n=50, seed=seed, wait=20).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(call, range(60))) == {200}
    httpx2.delete(f"{voting.url}/v1/jobs/{ballast}", timeout=PATIENCE)
    votes = voting.metric("ellzero_votes_total") - before["ellzero_votes_total"]
    batches = voting.metric("ellzero_batch_fill_count") - before["ellzero_batch_fill_count"]
    assert votes / batches > 300
    assert voting.metric("ellzero_queue_seconds_count") >= 60


def test_a_model_with_too_many_inputs_in_progress_answers_429_and_when_to_retry(folder: Path, tmp_path: Path) -> None:
    settings = ServeSettings(models=str(folder), jobs=str(tmp_path / "jobs"), max_open_inputs=2, log_level="error")
    with serving(create_app(settings)) as url:
        jobs = [start_job(url) for _ in range(2)]
        refused = post(url, "certify", model="small", x=X[0].tolist(), n=10)
        assert refused.status_code == 429
        seconds = int(refused.headers["retry-after"])
        assert 1 <= seconds <= 60
        assert refused.json()["type"] == "urn:ellzero:problem:too-many"
        assert refused.json()["detail"] == (
            f"the model small has 2 inputs in progress, and 2 at most; try again in {seconds} seconds"
        )
        never = post(url, "certify", model="small", x=X.tolist(), n=10)
        assert (never.status_code, never.json()["detail"]) == (422, "x must be at most 2 inputs; got 3")
        httpx2.delete(f"{url}/v1/jobs/{jobs[0]}", timeout=PATIENCE)
        with Client(url) as client:  # tries again after a while
            assert client.certify("small", X[0], n=10).n == 10
        httpx2.delete(f"{url}/v1/jobs/{jobs[1]}", timeout=PATIENCE)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("raise", "the model raised RuntimeError: it is tired"),
        ("nan", "the model returned NaN, which is not a vote"),
        ("classes", "num_classes = 3"),
        ("memory", "the model ran out of memory on cpu with a single sample"),
    ],
)
def test_a_model_that_fails_is_a_problem_with_the_reason(voting: Running, model: str, reason: str) -> None:
    answer = post(voting.url, "certify", model=model, x=X[0].tolist(), n=10, wait=10)
    assert answer.status_code == 500
    assert reason in answer.json()["detail"]
    assert answer.json()["type"] == "urn:ellzero:problem:model-failed"
    with Client(voting.url) as client, pytest.raises(ProblemReply, match="the model"):
        client.predict(model, X[0], n=10)
    assert post(voting.url, "predict", model="small", x=X[0].tolist(), n=10).status_code == 200


def test_an_error_of_a_stopping_rule_is_not_called_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: CertifyTask) -> None:
        raise ArithmeticError("it does not add up")

    monkeypatch.setattr(CertifyTask, "_check_votes", fail)
    add_model(tmp_path)
    with serving(create_app(ServeSettings(models=str(tmp_path), log_level="error"))) as url:
        problem = post(url, "certify", model="small", x=X[0].tolist(), n=10, wait=10).json()
    assert (problem["type"], problem["detail"]) == ("urn:ellzero:problem:internal", "it does not add up")


def test_a_job_whose_record_cannot_be_written_is_refused_and_cancelled(tmp_path: Path) -> None:
    """Its client would never learn its id, so its votes would be for nothing."""
    add_model(tmp_path)
    jobs = tmp_path / "jobs"
    settings = ServeSettings(models=str(tmp_path), jobs=str(jobs), log_level="error")
    with serving(create_app(settings)) as url:
        shutil.rmtree(jobs)
        jobs.write_text("no folder")
        answer = post(url, "certify", model="small", x=X[0].tolist(), n=LONG, wait=0, stopping="never")
        assert answer.status_code == 500
        for _ in range(200):
            metrics = httpx2.get(f"{url}/metrics", timeout=PATIENCE).text
            if 'ellzero_jobs_total{kind="certify",state="cancelled"} 1.0' in metrics:
                break
            time.sleep(0.05)
        assert 'ellzero_jobs_total{kind="certify",state="cancelled"} 1.0' in metrics


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [("DEVICE", "cuda:77", "device cuda:77 cannot be used"), ("JOBS", "/proc/nowhere", "/proc/nowhere: ")],
)
def test_device_and_job_folder_are_checked_before_the_service_starts(setting: str, value: str, message: str) -> None:
    command = [sys.executable, "-m", "ellzero", "serve", "--port", "0", "--workers", "2"]
    environment = os.environ | {f"ELLZERO_SERVE_{setting}": value}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(f"ellzero: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_models_that_cannot_be_used_are_503_and_lookups_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default folder of jobs is open to others here, which shows when the bundled model is first used."""
    (tmp_path / f"ellzero-jobs-{os.getuid()}").mkdir(mode=0o777)
    (tmp_path / f"ellzero-jobs-{os.getuid()}").chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with running(tmp_path / "log") as service:
        for _ in range(2):
            answer = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE)
            assert answer.status_code == 503
            assert answer.json()["detail"] == "the models of this service cannot be used; its log says why"
        assert "jobs must be given, because others have access" in service.log.read_text()
        assert (
            httpx2.get(f"{service.url}/v1/radius?k=255&alpha=0.2&d=784&p=0.99", timeout=PATIENCE).json()["radius"] == 3
        )


WITHOUT_TORCH = """
import sys
from importlib import util
from starlette.testclient import TestClient
sys.modules["torch"] = None  # importing it fails
real = util.find_spec
util.find_spec = lambda name, package=None: None if name == "torch" else real(name, package)
from ellzero.serve import ServeSettings, create_app
with TestClient(create_app(ServeSettings(log_level="error", jobs=sys.argv[1]))) as client:
    for path in ("/v1/radius?k=255&alpha=0.2&d=784&p=0.99", "/v1/models", "/v1/examples?model=demo-digits"):
        answer = client.get(path)
        print(answer.status_code, answer.text)
    for path in ("/v1/certify", "/v1/predict"):
        answer = client.post(path, json={"model": "demo-digits", "x": [1], "n": 10})
        print(answer.status_code, answer.text)
    print(client.get("/v1/jobs/" + "0" * 32).status_code, "{}")
"""


def test_without_torch_lookups_are_answered_and_models_say_what_is_missing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split(" ", 1) for line in done.stdout.splitlines()]
    assert [status for status, _ in lines] == ["200", "200", "422", "422", "422", "404"]
    radius, models, *refused = [json.loads(body) for _, body in lines[:-1]]
    missing = str(MissingExtra("voting", "predict", "torch"))
    assert radius["radius"] == 3
    assert models["models"] == []
    assert models["unusable"] == [{"name": "demo-digits", "reason": missing}]
    for problem in refused:
        assert problem["type"] == "urn:ellzero:problem:model-unusable"
        assert problem["detail"] == f"this service cannot use models: {missing}"
