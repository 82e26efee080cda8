"""Votes over HTTP: the same as in Python, at once or as jobs, shared out fairly, and never silently gone."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
import torch
from serve.running import Running, running
from serve.test_batch import NPY, npy
from serve.voting_models import CLASSES, FACTORY, NOISE, SHAPE, add_digits, add_misbehaving, add_model

from ellzero.certificates import InvalidInput
from ellzero.client import AsyncClient, CertifyAnswer, Client, JobAnswer, JobEnded, ProblemReply, UnsendableValue
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.middleware import start_deadline
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings
from ellzero.serve.voting.job_store import JobStore
from ellzero.serve.voting.model_registry import ModelRegistry
from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.models.files import ModelFile, SavedModel, load_model

X = np.random.default_rng(3).integers(0, 4, (3, *SHAPE))
LONG = 19_000_000  # as many as a request may ask for, nearly
PATIENCE = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    add_model(place)
    add_digits(place)
    add_misbehaving(place)
    return place


@pytest.fixture(scope="module")
def voting(folder: Path) -> Iterator[Running]:
    """A service with models, in a process of its own."""
    os.environ["PYTHONPATH"] = str(folder)
    settings = {
        "models": folder,
        "jobs": folder / "jobs",
        "allow_factories": json.dumps([FACTORY]),
        "log_level": "warning",
    }
    try:
        with running(folder / "log", settings=settings) as service:
            yield service
    finally:
        del os.environ["PYTHONPATH"]


def local(folder: Path, noise: DiscreteNoise = NOISE) -> SmoothedClassifier:
    return SmoothedClassifier(load_model(folder / "small.safetensors").network, noise, CLASSES)


def post(service: Running, path: str, /, **fields: Any) -> httpx2.Response:
    return httpx2.post(f"{service.url}/v1/{path}", json=fields, timeout=PATIENCE)


def begun(service: Running, **fields: Any) -> str:
    """A long job's id."""
    answer = post(service, "certify", model="small", x=X[0].tolist(), n=LONG, wait=0, stopping="never", **fields)
    assert answer.status_code == 202, answer.text
    job: str = answer.json()["id"]
    assert answer.headers["location"] == f"/v1/jobs/{job}"
    return job


# The same answers as in Python


def test_models_are_listed_with_what_is_known_of_them(voting: Running) -> None:
    with Client(voting.url) as client:
        models = {model.name: model for model in client.models().models}
    assert set(models) == {"small", "digits", "raise", "nan", "classes", "memory", "demo-digits"}
    small = models["small"]
    assert (small.architecture, small.shape, small.levels) == ("mlp", list(SHAPE), 4)
    assert small.class_names == ["a", "b", "c"]
    assert small.noise == NOISE.description()


@pytest.mark.parametrize("options", [{}, {"runner_up": True}, {"stopping": "anytime"}, {"alpha": "0.7"}, {"n0": 7}])
def test_certificates_over_http_are_those_in_python(voting: Running, folder: Path, options: dict[str, Any]) -> None:
    noise = DiscreteNoise(3, options.get("alpha", "0.9"))
    n0, stopping = options.get("n0", 100), options.get("stopping", "settled")
    question = CertifySettings.of(n0, 5_000, "0.01", 8, stopping, options.get("runner_up", False))
    expected = list(local(folder, noise).certify_many(list(X), question))
    with Client(voting.url) as client:
        for x in (X, X.tolist(), X.astype(np.uint8), torch.from_numpy(X), X / 3, (X / 3).astype(np.float32)):
            answer = client.certify("small", x, n=5_000, failure="0.01", seed=8, **options)
            assert (answer.n0, answer.n, answer.failure, answer.seed, answer.d) == (n0, 5_000, "1/100", 8, 16)
            assert answer.noise == noise.description()
            for mine, theirs in zip(expected, answer.results, strict=True):
                assert theirs.radius == mine.radius
                assert theirs.prediction == (None if mine.radius is None else mine.prediction)
                assert (theirs.selected, theirs.count, theirs.drawn) == (mine.selected, mine.count, mine.drawn)
                assert (tuple(theirs.counts), tuple(theirs.selection)) == (mine.counts, mine.selection)
                assert (theirs.lower_bound, theirs.upper_bound) == (mine.lower_bound, mine.upper_bound)


def test_predictions_over_http_are_those_in_python(voting: Running, folder: Path) -> None:
    mine = local(folder).predict(torch.from_numpy(X[1]), 700, "0.01", seed=4)
    with Client(voting.url) as client:
        answer = client.predict("small", X[1], n=700, failure="0.01", seed=4)
    (theirs,) = answer.results
    assert (theirs.prediction, tuple(theirs.counts), theirs.drawn) == (mine.prediction, mine.counts, mine.drawn)


def test_a_seed_that_was_not_given_is_told(voting: Running) -> None:
    with Client(voting.url) as client:
        first = client.certify("small", X[0], n=300)
        again = client.certify("small", X[0], n=300, seed=first.seed)
    assert first.results == again.results


# Examples


def test_examples_of_the_digits_are_inputs_that_the_model_takes(voting: Running) -> None:
    found = httpx2.get(f"{voting.url}/v1/examples?model=digits", timeout=PATIENCE).json()
    assert found["data"] == "digits, 1 from level 8 on"
    assert [example["label"] for example in found["examples"]] == list(range(10))
    x = np.array([example["x"] for example in found["examples"]])
    assert x.shape == (10, 1, 8, 8)
    assert set(x.ravel()) == {0, 1}
    answer = post(voting, "certify", model="digits", x=x.tolist(), n=50, wait=20)
    assert (answer.status_code, len(answer.json()["results"])) == (200, 10)


def test_an_example_under_noise_has_that_noise(voting: Running) -> None:
    clean = np.array(httpx2.get(f"{voting.url}/v1/examples?model=digits", timeout=PATIENCE).json()["examples"][3]["x"])
    kept = {}
    for alpha in ("0.99", "0.6"):
        url = f"{voting.url}/v1/noisy?model=digits&example=3&alpha={alpha}"
        drawn = [np.array(httpx2.get(f"{url}&seed={seed}").json()["x"]) for seed in range(40)]
        assert httpx2.get(f"{url}&seed=7").json()["x"] == drawn[7].tolist()
        kept[alpha] = np.mean([(one == clean).mean() for one in drawn])
    assert kept["0.99"] == pytest.approx(0.99, abs=0.02)
    assert kept["0.6"] == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("examples?model=small", 404, "there are no examples for small"),
        ("examples?model=none", 404, "no model is called none"),
        ("examples", 422, "model is missing"),
        ("noisy?model=digits&example=10", 422, "example must be an integer from 0 to 9; got 10"),
        ("noisy?model=digits&example=1&alpha=1", 422, "alpha must be"),
    ],
)
def test_examples_that_are_not_there(voting: Running, path: str, status: int, message: str) -> None:
    answer = httpx2.get(f"{voting.url}/v1/{path}", timeout=PATIENCE)
    assert answer.status_code == status
    assert message in answer.json()["detail"]


# Jobs


def test_a_long_request_is_a_job_that_goes_on_and_is_waited_for(voting: Running, folder: Path) -> None:
    answer = post(voting, "certify", model="small", x=X[0].tolist(), n=60_000, wait=0, seed=5, stopping="never")
    assert answer.status_code == 202
    job = answer.json()
    assert (job["kind"], job["votes_at_most"]) == ("certify", 60_100)
    assert job["state"] in ("waiting", "running", "done")  # it may end while its record is written
    url = f"{voting.url}/v1/jobs/{job['id']}"
    over = httpx2.get(url, params={"wait": 20}, timeout=PATIENCE).json()
    assert over["state"] == "done"
    assert over["votes"] == 60_100
    (expected,) = local(folder).certify_many([X[0]], CertifySettings.of(100, 60_000, "0.001", 5, "never"))
    (found,) = over["certificate"]["results"]
    assert (found["radius"], tuple(found["counts"])) == (expected.radius, expected.counts)
    assert httpx2.get(url).json() == over  # it stays


def test_progress_is_told_while_a_job_goes_on(voting: Running) -> None:
    job = begun(voting)
    url, seen = f"{voting.url}/v1/jobs/{job}", []
    for _ in range(200):
        found = httpx2.get(url).json()
        seen.append(found["votes"])
        if found["eta_seconds"] is not None and len(set(seen)) > 2:
            break
        time.sleep(0.05)
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert sum(found["counts"][0]) > 0
    assert found["state"] == "running"
    assert httpx2.delete(url).json()["state"] == "cancelled"
    assert httpx2.delete(url).json()["state"] == "cancelled"
    assert httpx2.get(url, params={"wait": 5}).json()["state"] == "cancelled"


def test_a_short_request_is_answered_while_a_long_job_goes_on(voting: Running) -> None:
    job = begun(voting)
    answer = post(voting, "certify", model="small", x=X[1].tolist(), n=500, wait=20)
    assert answer.status_code == 200
    assert httpx2.delete(f"{voting.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] == "cancelled"


def test_the_client_waits_shows_progress_or_gives_a_handle(voting: Running) -> None:
    told: list[JobAnswer] = []
    with Client(voting.url) as client:
        answer = client.certify("small", X[0], n=400_000, seed=3, stopping="never", progress=told.append)
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
    assert not told or told[-1].state == "done"


def test_a_client_with_a_short_timeout_waits_for_long_votes_too(voting: Running) -> None:
    with Client(voting.url) as patient, Client(voting.url, timeout=1.5) as hasty:
        asked: dict[str, Any] = {"n": 500_000, "seed": 3, "stopping": "never"}
        assert hasty.certify("small", X[0], **asked).results == patient.certify("small", X[0], **asked).results
        assert hasty.predict("small", X[0], n=50, seed=1).n == 50


def cancelled_jobs(service: Running) -> float:
    return service.metric('ellzero_jobs_total{kind="certify",state="cancelled"}')


def test_votes_of_a_caller_who_has_gone_are_ended(voting: Running) -> None:
    before = cancelled_jobs(voting)
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            f"{voting.url}/v1/certify",
            json={"model": "small", "x": X[0].tolist(), "n": LONG, "stopping": "never", "wait": 2},
            timeout=0.5,
        )
    for _ in range(200):
        if cancelled_jobs(voting) == before + 1:
            break
        time.sleep(0.05)
    assert cancelled_jobs(voting) == before + 1


def test_the_async_client_does_the_same(voting: Running) -> None:
    async def ask() -> None:
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

    anyio.run(ask)


def test_requests_of_many_callers_share_batches(voting: Running) -> None:
    before = {name: voting.metric(name) for name in ("ellzero_votes_total", "ellzero_batch_fill_count")}
    ballast = begun(voting)

    def ask(seed: int) -> int:
        return post(voting, "certify", model="small", x=X[0].tolist(), n0=50, n=50, seed=seed, wait=20).status_code

    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(ask, range(60))) == {200}
    httpx2.delete(f"{voting.url}/v1/jobs/{ballast}", timeout=PATIENCE)
    votes = voting.metric("ellzero_votes_total") - before["ellzero_votes_total"]
    batches = voting.metric("ellzero_batch_fill_count") - before["ellzero_batch_fill_count"]
    assert votes / batches > 300
    assert voting.metric("ellzero_queue_seconds_count") >= 60


def test_a_model_with_all_inputs_in_progress_answers_429_and_when_to_retry(folder: Path, tmp_path: Path) -> None:
    settings = {"models": folder, "jobs": tmp_path / "jobs", "max_open_inputs": 2}
    with running(tmp_path / "log", settings=settings) as service:
        jobs = [begun(service) for _ in range(2)]
        refused = post(service, "certify", model="small", x=X[0].tolist(), n=10)
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["type"] == "urn:ellzero:problem:too-many"
        never = post(service, "certify", model="small", x=X.tolist(), n=10)
        assert (never.status_code, never.json()["detail"]) == (422, "x must be at most 2 inputs; got 3")
        httpx2.delete(f"{service.url}/v1/jobs/{jobs[0]}", timeout=PATIENCE)
        with Client(service.url) as client:  # which comes back
            assert client.certify("small", X[0], n=10).n == 10


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_job_whose_service_ended_is_lost_and_says_so(folder: Path, tmp_path: Path, how: signal.Signals) -> None:
    settings = {"models": folder, "jobs": tmp_path / "jobs"}
    with running(tmp_path / "log", settings=settings) as service:
        job = begun(service)
        service.process.send_signal(how)
        service.process.wait(PATIENCE)
    with running(tmp_path / "log2", settings=settings) as service, Client(service.url) as client:
        state = client.job(job).state()
        assert state is not None
        assert (state.state, state.reason) == ("lost", "the service ended before the job did; submit it again")
        with pytest.raises(JobEnded, match="is lost"):
            client.job(job).result()


def test_every_worker_knows_every_job(folder: Path, tmp_path: Path) -> None:
    settings = {"models": folder, "jobs": tmp_path / "jobs", "workers": 2}
    with running(tmp_path / "log", settings=settings) as service:
        jobs = [begun(service) for _ in range(2)]
        for job in jobs:
            states = {httpx2.get(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] for _ in range(20)}
            assert states <= {"waiting", "running"}
            assert httpx2.delete(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] == "cancelled"
            assert {
                httpx2.get(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] for _ in range(20)
            } == {"cancelled"}
        short = post(service, "certify", model="small", x=X[0].tolist(), n=50_000, wait=0, seed=1).json()["id"]
        found = {
            httpx2.get(f"{service.url}/v1/jobs/{short}?wait=20", timeout=PATIENCE).json()["state"] for _ in range(20)
        }
        assert found == {"done"}


def reloaded(service: Running, digests: list[str]) -> None:
    """Send SIGHUP, and wait until these models are there, by their SHA-256."""
    service.process.send_signal(signal.SIGHUP)
    for _ in range(200):
        listed = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()["models"]
        found = [model["sha256"] for model in listed if model["name"] != "demo-digits"]
        if found == digests:
            break
        time.sleep(0.05)
    assert found == digests


def test_models_that_are_added_replaced_and_removed_are_seen_on_sighup(tmp_path: Path) -> None:
    old = ModelFile.read(add_model(tmp_path, "first")).digest
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": tmp_path / "jobs"}) as service:
        asked = {"model": "first", "x": X[0].tolist(), "seed": 7}
        before = post(service, "certify", n=50_000, **asked, wait=20)
        assert before.json()["sha256"] == old
        other = ModelFile.read(add_model(tmp_path, "second", seed=2)).digest
        reloaded(service, [old, other])
        begun = post(service, "certify", n=300_000, stopping="never", **asked, wait=0).json()["id"]
        new = ModelFile.read(add_model(tmp_path, "first", seed=3)).digest
        reloaded(service, [new, other])
        assert post(service, "certify", n=200, **asked, wait=20).json()["sha256"] == new
        ended = httpx2.get(f"{service.url}/v1/jobs/{begun}?wait=20", timeout=PATIENCE).json()
        assert ended["state"] == "done"
        assert ended["certificate"]["sha256"] == old  # it ends with the model that it began with
        (tmp_path / "second.safetensors").unlink()
        reloaded(service, [new])
        assert post(service, "certify", model="second", x=X[0].tolist(), n=10).status_code == 404


def test_a_job_that_cannot_be_noted_is_refused_and_ended(tmp_path: Path) -> None:
    """Its caller would never hear of it: no model works for nobody."""
    add_model(tmp_path)
    jobs = tmp_path / "jobs"
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": jobs}) as service:
        shutil.rmtree(jobs)
        jobs.write_text("no folder")
        answer = post(service, "certify", model="small", x=X[0].tolist(), n=LONG, wait=0, stopping="never")
        assert answer.status_code == 500
        for _ in range(200):
            metrics = httpx2.get(f"{service.url}/metrics", timeout=PATIENCE).text
            if 'ellzero_jobs_total{kind="certify",state="cancelled"} 1.0' in metrics:
                break
            time.sleep(0.05)
        assert 'ellzero_jobs_total{kind="certify",state="cancelled"} 1.0' in metrics


def test_the_record_of_a_job_says_in_the_end_that_it_is_over(voting: Running, folder: Path) -> None:
    """Also of one that was over before anybody could write that it had begun."""
    jobs = [post(voting, "certify", model="small", x=X[0].tolist(), n=n, wait=0) for n in (1, 200, 5_000)]
    for job in (answer.json()["id"] for answer in jobs if answer.status_code == 202):
        httpx2.get(f"{voting.url}/v1/jobs/{job}?wait=20", timeout=PATIENCE)
        for _ in range(200):
            if json.loads((folder / "jobs" / f"{job}.json").read_bytes())["state"] == "done":
                break
            time.sleep(0.05)
        assert json.loads((folder / "jobs" / f"{job}.json").read_bytes())["state"] == "done"


def test_with_several_workers_jobs_outlive_a_sighup(tmp_path: Path) -> None:
    add_model(tmp_path)
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": tmp_path / "jobs", "workers": 2}) as service:
        job = begun(service)
        add_model(tmp_path, "other", seed=2)
        service.process.send_signal(signal.SIGHUP)
        for _ in range(200):  # until both workers know it, as far as twenty answers tell
            known = [len(httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()["models"]) for _ in range(20)]
            if set(known) == {3}:
                break
            time.sleep(0.05)
        assert set(known) == {3}
        for _ in range(200):  # a busy machine may take a while to the first vote
            state = httpx2.get(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"]
            if state != "waiting":
                break
            time.sleep(0.05)
        assert state == "running"
        httpx2.delete(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE)


def test_a_model_that_is_being_loaded_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("slow", "quick"):
        add_model(tmp_path, name)
    go_on, loaded = threading.Event(), []

    def slowly(path: Path, allowed: Any) -> SavedModel:
        if path.stem == "slow":
            assert go_on.wait(PATIENCE)
        loaded.append(path.stem)
        return load_model(path, allowed)

    monkeypatch.setattr("ellzero.serve.voting.model_registry.load_model", slowly)
    registry = ModelRegistry(ServeSettings(models=str(tmp_path)), Metrics())
    registry.load()
    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(registry.serve, "slow") for _ in range(2)]
        assert registry.serve("quick").name == "quick"
        assert registry.card("slow").architecture == "mlp"
        go_on.set()
        assert slow[0].result(PATIENCE) is slow[1].result(PATIENCE)
    assert sorted(loaded) == ["quick", "slow"]
    registry.close()


@pytest.mark.parametrize(("silent", "state"), [(5, "running"), (120, "lost")])
def test_a_job_of_another_machine_is_lost_when_it_is_not_written_of_any_more(
    tmp_path: Path, silent: float, state: str
) -> None:
    store, job = JobStore(str(tmp_path)), "a" * 32
    store.write(job, {"state": "running"})
    record = json.loads((tmp_path / f"{job}.json").read_bytes())
    record["owner"] |= {"host": "another", "written": time.time() - silent}
    (tmp_path / f"{job}.json").write_text(json.dumps(record))
    found = store.read(job)
    assert found is not None
    assert found["state"] == state


def test_the_default_folder_of_jobs_must_be_one_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    JobStore(None).write("a" * 32, {"state": "done"})
    (place,) = tmp_path.iterdir()
    place.chmod(0o777)
    with pytest.raises(InvalidInput, match="jobs must be given, because others have access"):
        JobStore(None)


# What goes wrong


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        (
            {"model": "none"},
            404,
            "no model is called none; there are classes, demo-digits, digits, memory, nan, raise, small",
        ),
        ({"model": "../small"}, 422, "model must be a name that /v1/models lists"),
        ({"model": 3}, 422, "model must be a name"),
        ({"x": [1, 2]}, 422, "x must be of shape [1, 4, 4], or several of them stacked; got [2]"),
        ({"x": "text"}, 422, "x must be an array of numbers"),
        ({"x": [[["a"] * 4] * 4]}, 422, "x must be an array of numbers of one shape"),
        ({"x": [[[4] * 4] * 4]}, 422, "x must be levels from 0 to 3; got 4"),
        ({"x": [[[-1] * 4] * 4]}, 422, "x must be levels from 0 to 3; got -1"),
        ({"x": [[[0.4] * 4] * 4]}, 422, "x must be whole multiples of 1/3 where it is float"),
        ({"x": [[[1.5] * 4] * 4]}, 422, "x must be from 0 to 1 where it is float"),
        ({"x": []}, 422, "x must be an input with at least one coordinate"),
        ({"n": 0}, 422, "n must be an integer from 1 to 100000000; got 0"),
        ({"n": 10**9}, 422, "n must be an integer from 1 to 100000000"),
        ({"n": 10**8}, 422, "a request may take 20,000,000"),
        ({"n0": 0}, 422, "n0 must be an integer"),
        ({"failure": 1}, 422, "failure must be a number strictly between 0 and 1"),
        ({"alpha": "2"}, 422, "alpha must be a rational number strictly between 0 and 1"),
        ({"seed": -1}, 422, "seed must be an integer from 0"),
        ({"wait": 60}, 422, "wait must be an integer from 0 to 20"),
        ({"stopping": "soon"}, 422, "stopping must be settled or anytime or never; got 'soon'"),
        ({"stopping": "anytime", "runner_up": True}, 422, "stopping must be settled or never with runner_up"),
        ({"runner_up": "yes"}, 422, "runner_up must be true or false"),
        ({"path": "/etc/passwd"}, 422, "there is no field 'path' here"),
    ],
)
def test_a_wrong_value_is_one_clear_problem(voting: Running, fields: dict[str, Any], status: int, message: str) -> None:
    answer = post(voting, "certify", **{"model": "small", "x": X[0].tolist(), "n": 10, **fields})
    assert answer.status_code == status
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("query", "array", "status", "message"),
    [
        ("model=small&n=10", X[0].astype("U3"), 422, "body must be a .npy file of integers, booleans or floats"),
        ("model=small&n=10", np.asfortranarray(X[0].T), 422, "in C order"),
        ("model=small&n=10", X[0][:, :3], 422, "x must be of shape [1, 4, 4]"),
        ("model=small&n=10&runner_up=1", X[0], 422, "runner_up must be true or false"),
        ("n=10", X[0], 422, "model is missing"),
        ("model=small", X[0], 422, "n is missing"),
    ],
)
def test_a_wrong_array_is_one_clear_problem(
    voting: Running, query: str, array: np.ndarray[Any, Any], status: int, message: str
) -> None:
    answer = httpx2.post(f"{voting.url}/v1/certify?{query}", content=npy(array), headers=NPY)
    assert answer.status_code == status
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {"content-type": "application/json"}, 400),
        (b"[]", {"content-type": "application/json"}, 422),
        (b'{"model": "small", "n": 5}', {"content-type": "application/json"}, 422),
        (b'{"x": ' + b"[" * 200_000, {"content-type": "application/json"}, 422),
        (b"x", {"content-type": "text/plain"}, 415),
        (b"\x93NUMPY", NPY, 422),
    ],
)
def test_a_body_that_is_none_is_refused(voting: Running, content: bytes, headers: dict[str, str], status: int) -> None:
    query = "?model=small&n=5" if headers == NPY else ""
    assert httpx2.post(f"{voting.url}/v1/predict{query}", content=content, headers=headers).status_code == status


@pytest.mark.parametrize("job", ["0" * 32, "nonsense", "..%2f..%2fetc", "a" * 5_000])
def test_a_job_that_nobody_knows_is_not_found(voting: Running, job: str) -> None:
    for method in ("GET", "DELETE"):
        assert httpx2.request(method, f"{voting.url}/v1/jobs/{job}").status_code == 404


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("raise", "the model raised RuntimeError: it is tired"),
        ("nan", "the model returned NaN, which is not a vote"),
        ("classes", "num_classes = 3"),
        ("memory", "the model ran out of memory on cpu with a single sample"),
    ],
)
def test_a_model_that_fails_says_why_and_the_service_lives_on(voting: Running, model: str, reason: str) -> None:
    answer = post(voting, "certify", model=model, x=X[0].tolist(), n=10, wait=10)
    assert answer.status_code == 500
    assert reason in answer.json()["detail"]
    assert answer.json()["type"] == "urn:ellzero:problem:model-failed"
    with Client(voting.url) as client, pytest.raises(ProblemReply, match="the model"):
        client.predict(model, X[0], n=10)
    assert post(voting, "predict", model="small", x=X[0].tolist(), n=10).status_code == 200


def test_a_factory_that_nobody_allowed_is_not_run(folder: Path, tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"models": folder, "jobs": tmp_path / "jobs"}) as service:
        answer = post(service, "predict", model="raise", x=X[0].tolist(), n=10)
        assert answer.status_code == 422
        assert answer.json()["type"] == "urn:ellzero:problem:model-unusable"
        assert "needs the factory misbehaving:make" in answer.json()["detail"]
        with Client(service.url) as client:
            listed = client.models()
        assert {model.name for model in listed.models} == {"small", "digits", "demo-digits"}
        assert {model.name for model in listed.unusable} == {"raise", "nan", "classes", "memory"}
        assert all("ELLZERO_SERVE_ALLOW_FACTORIES" in model.reason for model in listed.unusable)


def test_the_model_that_ships_is_there_and_torch_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    with running(tmp_path / "log", settings={"jobs": tmp_path / "jobs"}) as service:
        loaded = Path(f"/proc/{service.process.pid}/maps")
        assert "libtorch" not in loaded.read_text()
        with Client(service.url) as client:
            (model,) = client.models().models
            assert model.name == "demo-digits"
            assert "libtorch" in loaded.read_text()
            address = f"{service.url}/v1/examples?model=demo-digits"
            examples = httpx2.get(address, timeout=PATIENCE).json()["examples"]
            answer = client.certify("demo-digits", [example["x"] for example in examples], n=2_000)
            right = [
                result.prediction == example["label"] for result, example in zip(answer.results, examples, strict=True)
            ]
            assert sum(right) >= 7


def test_jobs_of_the_model_that_ships_are_known_to_workers_that_never_had_it(tmp_path: Path) -> None:
    """Nor do they load it for that."""
    settings = {"jobs": tmp_path / "jobs", "workers": 2}
    x = np.zeros((1, 8, 8), int).tolist()
    with running(tmp_path / "log", settings=settings) as service:
        job = post(service, "certify", model="demo-digits", x=x, n=LONG, wait=0, stopping="never").json()["id"]
        states = {httpx2.get(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] for _ in range(20)}
        assert states <= {"waiting", "running"}
        assert httpx2.delete(f"{service.url}/v1/jobs/{job}", timeout=PATIENCE).json()["state"] == "cancelled"


def test_an_empty_folder_leaves_the_bundled_model(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with running(tmp_path / "log", settings={"models": tmp_path / "none", "jobs": tmp_path / "jobs"}) as service:
        listed = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()["models"]
        assert [model["name"] for model in listed] == ["demo-digits"]
        answer = post(service, "certify", model="small", x=[1], n=10)
        assert answer.status_code == 404
        assert "no model is called small; there are demo-digits" in answer.json()["detail"]


def test_a_folder_of_models_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ellzero", "serve", "--models", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().startswith("ellzero: --models must be an existing folder; got")


def test_a_file_that_is_no_model_is_listed_as_unusable_and_named_in_the_log(tmp_path: Path) -> None:
    add_model(tmp_path, "good")
    (tmp_path / "bad.safetensors").write_bytes(b"no model")
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": tmp_path / "jobs"}) as service:
        listed = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()
        assert [model["name"] for model in listed["models"]] == ["demo-digits", "good"]
        assert [model["name"] for model in listed["unusable"]] == ["bad"]
        assert "is not a safetensors file" in listed["unusable"][0]["reason"]
        assert post(service, "predict", model="bad", x=[1], n=10).status_code == 422
        assert "bad.safetensors is not a safetensors file" in service.log.read_text()


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [("DEVICE", "cuda:77", "device cuda:77 cannot be used"), ("JOBS", "/proc/nowhere", "/proc/nowhere: ")],
)
def test_what_models_need_is_checked_before_the_service_starts(setting: str, value: str, message: str) -> None:
    command = [sys.executable, "-m", "ellzero", "serve", "--port", "0", "--workers", "2"]
    environment = os.environ | {f"ELLZERO_SERVE_{setting}": value}
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(f"ellzero: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_models_that_cannot_be_used_are_no_fault_of_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the default folder of jobs is open to others, and is found to be when the model that ships is asked for."""
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


@pytest.mark.parametrize("x", [np.array([], np.int64), np.array(["a"]), [object()], [float("nan")]])
def test_the_client_does_not_send_what_is_no_input(x: Any) -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(UnsendableValue, match="x must be an array"):
        client.certify("small", x)


def test_what_loads_longer_than_a_request_may_take_goes_on_for_the_next_one() -> None:
    go_on, loaded = threading.Event(), []

    def load() -> None:
        assert go_on.wait(PATIENCE)
        loaded.append(1)

    async def ask() -> None:
        start_deadline(0.05)
        with pytest.raises(HttpProblem) as refused:
            await ThreadPool(1, 0.05).run_aside(load)
        assert (refused.value.status, refused.value.kind) == (503, "timeout")
        go_on.set()

    anyio.run(ask)
    assert loaded == [1]  # the loop has waited for its threads at its end
