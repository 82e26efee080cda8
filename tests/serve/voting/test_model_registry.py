"""The models of a service: listed, loaded on first use, reloaded, and named with the reason if they cannot be used."""

import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
import torch
from client.loopback import serving
from serve.running import Running, running
from serve.voting_models import NOISE, PATIENCE, SHAPE, X, add_model, post

from ellzero.client import Client
from ellzero.serve import create_app
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.settings import ServeSettings
from ellzero.serve.voting.model_registry import ModelRegistry
from ellzero.smoothing.models.files import ModelFile, SavedModel, load_model, save_model


def test_models_are_listed_with_their_cards(voting: Running) -> None:
    with Client(voting.url) as client:
        models = {model.name: model for model in client.models().models}
    assert set(models) == {"small", "digits", "raise", "nan", "classes", "memory", "demo-digits"}
    small = models["small"]
    assert (small.architecture, small.shape, small.levels) == ("mlp", list(SHAPE), 4)
    assert small.class_names == ["a", "b", "c"]
    assert small.noise == NOISE.description()


def reload_models(service: Running, digests: list[str]) -> None:
    """Send SIGHUP, and wait until these models are there, by their SHA-256."""
    service.process.send_signal(signal.SIGHUP)
    for _ in range(200):
        listed = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()["models"]
        result = [model["sha256"] for model in listed if model["name"] != "demo-digits"]
        if result == digests:
            break
        time.sleep(0.05)
    assert result == digests


def test_sighup_adds_replaces_and_removes_models(tmp_path: Path) -> None:
    old = ModelFile.read(add_model(tmp_path, "first")).digest
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": tmp_path / "jobs"}) as service:
        options = {"model": "first", "x": X[0].tolist(), "seed": 7}
        before = post(service.url, "certify", n=50_000, **options, wait=20)
        assert before.json()["sha256"] == old
        other = ModelFile.read(add_model(tmp_path, "second", seed=2)).digest
        reload_models(service, [old, other])
        job = post(service.url, "certify", n=300_000, stopping="never", **options, wait=0).json()["id"]
        new = ModelFile.read(add_model(tmp_path, "first", seed=3)).digest
        reload_models(service, [new, other])
        assert post(service.url, "certify", n=200, **options, wait=20).json()["sha256"] == new
        ended = httpx2.get(f"{service.url}/v1/jobs/{job}?wait=20", timeout=PATIENCE).json()
        assert ended["state"] == "done"
        assert ended["certificate"]["sha256"] == old  # it ends with the model that it began with
        (tmp_path / "second.safetensors").unlink()
        reload_models(service, [new])
        assert post(service.url, "certify", model="second", x=X[0].tolist(), n=10).status_code == 404


def test_loading_one_model_does_not_delay_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        slow = [pool.submit(registry.get_model, "slow") for _ in range(2)]
        assert registry.get_model("quick").name == "quick"
        assert registry.get_card("slow").architecture == "mlp"
        go_on.set()
        assert slow[0].result(PATIENCE) is slow[1].result(PATIENCE)
    assert sorted(loaded) == ["quick", "slow"]
    registry.close()


def test_a_factory_that_is_not_allowed_is_not_run(folder: Path, tmp_path: Path) -> None:
    settings = ServeSettings(models=str(folder), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url:
        answer = post(url, "predict", model="raise", x=X[0].tolist(), n=10)
        assert answer.status_code == 422
        assert answer.json()["type"] == "urn:ellzero:problem:model-unusable"
        assert "needs the factory misbehaving:make" in answer.json()["detail"]
        with Client(url) as client:
            listed = client.models()
        assert {model.name for model in listed.models} == {"small", "digits", "demo-digits"}
        assert {model.name for model in listed.unusable} == {"raise", "nan", "classes", "memory"}
        assert all("ELLZERO_SERVE_ALLOW_FACTORIES" in model.reason for model in listed.unusable)


def test_the_bundled_model_is_served_and_torch_loaded_on_first_use(tmp_path: Path) -> None:
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


def test_an_empty_folder_leaves_the_bundled_model(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    settings = ServeSettings(models=str(tmp_path / "none"), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url:
        listed = httpx2.get(f"{url}/v1/models", timeout=PATIENCE).json()["models"]
        assert [model["name"] for model in listed] == ["demo-digits"]
        answer = post(url, "certify", model="small", x=[1], n=10)
        assert answer.status_code == 404
        assert "no model is called small; the only one is demo-digits" in answer.json()["detail"]


def test_a_missing_folder_of_models_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ellzero", "serve", "--models", str(tmp_path / "none"), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().startswith("ellzero: --models must be an existing folder; got")


def test_a_file_that_is_not_a_model_is_listed_as_unusable_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add_model(tmp_path, "good")
    (tmp_path / "bad.safetensors").write_bytes(b"no model")
    settings = ServeSettings(models=str(tmp_path), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url:
        listed = httpx2.get(f"{url}/v1/models", timeout=PATIENCE).json()
        assert [model["name"] for model in listed["models"]] == ["demo-digits", "good"]
        assert [model["name"] for model in listed["unusable"]] == ["bad"]
        assert "is not a safetensors file" in listed["unusable"][0]["reason"]
        assert post(url, "predict", model="bad", x=[1], n=10).status_code == 422
    assert "bad.safetensors is not a safetensors file" in caplog.text


def test_a_model_that_fails_to_load_is_listed_as_unusable_from_then_on(tmp_path: Path) -> None:
    """Its card is readable, but its weights do not fit the architecture, which shows on first use."""
    add_model(tmp_path, "good")
    card = ModelFile.read(tmp_path / "good.safetensors").card
    save_model(tmp_path / "broken.safetensors", torch.nn.ParameterDict({"unused": torch.zeros(1)}), card)
    settings = ServeSettings(models=str(tmp_path), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url, Client(url) as client:
        assert {model.name for model in client.models().models} == {"broken", "good", "demo-digits"}
        first, second = (post(url, "predict", model="broken", x=X[0].tolist(), n=10) for _ in range(2))
        listed = client.models()
        assert client.predict("good", X[0], n=10).n == 10
    assert {model.name for model in listed.models} == {"good", "demo-digits"}
    (unusable,) = listed.unusable
    assert unusable.name == "broken"
    assert unusable.reason
    for answer in (first, second):
        assert (answer.status_code, answer.json()["type"]) == (422, "urn:ellzero:problem:model-unusable")
        assert answer.json()["detail"] == f"the model broken cannot be used: it {unusable.reason}"
