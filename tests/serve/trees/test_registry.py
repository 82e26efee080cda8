"""The trees and forests of a service: listed with their kind, reloaded, and named with the reason if unusable."""

import json
import signal
import time
from pathlib import Path

import httpx2
import pytest
from client.loopback import serving
from serve.running import Running, running
from serve.tree_models import BITS, add_trees
from serve.voting_models import PATIENCE, add_model, post

from ellzero.client import Client
from ellzero.core.errors import InvalidInput
from ellzero.serve import create_app
from ellzero.serve.settings import ServeSettings
from ellzero.serve.trees.registry import TreeRegistry
from ellzero.trees.estimators import SmoothedTrees
from ellzero.trees.model_file import load_trees


def test_models_are_listed_with_their_kind(
    served_trees: Running, tree_folder: Path, estimators: dict[str, SmoothedTrees]
) -> None:
    with Client(served_trees.url) as client:
        models = {model.name: model for model in client.models().models}
    assert {name: model.kind for name, model in models.items()} == {
        "constant": "tree",
        "demo-digits": "network",
        "digits-forest": "forest",
        "digits-tree": "tree",
        "tie": "tree",
    }
    tree = models["digits-tree"]
    assert (tree.shape, tree.levels, tree.num_classes, tree.class_names) == ([64], 2, 2, ["3", "8"])
    assert (tree.architecture, tree.data) == ("SmoothedTreeClassifier", "digits")
    assert tree.noise["alpha"] == str(estimators["digits-tree"].alpha_)
    assert tree.sha256 == load_trees(tree_folder / "digits-tree.json").digest


def test_a_file_that_is_no_model_is_listed_with_the_reason_and_the_others_are_served(tmp_path: Path) -> None:
    add_trees(tmp_path)
    content = json.loads((tmp_path / "digits-tree.json").read_text())
    for name, wrong in (
        ("text", "no JSON"),
        ("other", '{"run": 1}'),
        ("twice", json.dumps({**content, "feature": [0] * len(content["feature"])})),
        ("alpha", json.dumps({**content, "alpha": "1/3"})),
    ):
        (tmp_path / f"{name}.json").write_text(wrong)
    add_model(tmp_path, "tie")  # a network of the same name
    (tmp_path / "not a name.json").write_text("{}")
    settings = ServeSettings(models=str(tmp_path), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url, Client(url) as client:
        listed = client.models()
        reasons = {model.name: model.reason for model in listed.unusable}
        assert set(reasons) == {"text", "other", "twice", "alpha", "tie.json"}
        assert all(reasons[name].startswith("is no model of trees: ") for name in ("text", "other", "twice", "alpha"))
        assert reasons["tie.json"] == "has the name of tie.safetensors beside it"
        kinds = {model.name: model.kind for model in listed.models}
        assert (kinds["tie"], kinds["digits-tree"]) == ("network", "tree")
        for path in ("certify", "predict"):
            answer = post(url, path, model="twice", x=[0] * 64)
            assert (answer.status_code, answer.json()["type"]) == (422, "urn:ellzero:problem:model-unusable")
            assert answer.json()["detail"] == f"the model twice cannot be used: it {reasons['twice']}"
        assert client.certify("digits-tree", BITS[0]).results[0].exact is not None


def test_a_tree_takes_the_place_of_a_bundled_model_of_its_name(tmp_path: Path) -> None:
    add_trees(tmp_path)
    (tmp_path / "digits-tree.json").rename(tmp_path / "demo-digits.json")
    settings = ServeSettings(models=str(tmp_path), jobs=str(tmp_path / "jobs"), log_level="error")
    with serving(create_app(settings)) as url, Client(url) as client:
        assert [model.kind for model in client.models().models if model.name == "demo-digits"] == ["tree"]
        assert client.certify("demo-digits", BITS[0]).failure == "0"


def test_sighup_adds_and_removes_trees(tmp_path: Path) -> None:
    add_trees(tmp_path)
    tree = (tmp_path / "digits-tree.json").read_bytes()
    with running(tmp_path / "log", settings={"models": tmp_path, "jobs": tmp_path / "jobs"}) as service:
        (tmp_path / "tie.json").unlink()
        (tmp_path / "another.json").write_bytes(tree)
        service.process.send_signal(signal.SIGHUP)
        expected = ["another", "constant", "demo-digits", "digits-forest", "digits-tree"]
        for _ in range(200):
            listed = httpx2.get(f"{service.url}/v1/models", timeout=PATIENCE).json()["models"]
            names = [model["name"] for model in listed]
            if names == expected:
                break
            time.sleep(0.05)
        assert names == expected
        assert post(service.url, "certify", model="another", x=BITS[0].tolist()).status_code == 200
        assert post(service.url, "certify", model="tie", x=[0, 1]).status_code == 404


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="models must be an existing folder"):
        TreeRegistry(ServeSettings(models=str(tmp_path / "none"))).load()
