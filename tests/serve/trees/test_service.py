"""Trees and forests over HTTP: the exact answers of the estimators in Python, without votes, and clear problems."""

import asyncio
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from client.loopback import serving
from serve.running import Running
from serve.test_batch import NPY, npy
from serve.tree_models import BITS, LABELS, NAMES, add_trees
from serve.voting_models import PATIENCE, post

from ellzero.client import AsyncClient, Client
from ellzero.core.errors import MissingExtra
from ellzero.core.schemas import InputCertificate
from ellzero.serve import ServeSettings, create_app
from ellzero.trees import SmoothedTreeClassifier, save_trees
from ellzero.trees.estimators import SmoothedTrees

HALF = Fraction(1, 2)


def check_certificate(estimator: SmoothedTrees, x: np.ndarray[Any, Any], theirs: InputCertificate) -> None:
    """A certificate over HTTP says what the estimator says of this input."""
    (radius,) = estimator.certified_radius([x])
    p = estimator.probability_bounds([x], 0, exact=True)[0][0, 0]
    label = int(p > HALF)
    own = p if label else 1 - p
    assert theirs.radius == (None if radius < 0 else radius)
    assert theirs.prediction == (None if radius < 0 else label)
    assert (theirs.count, theirs.drawn, theirs.counts, theirs.selection) == (0, 0, [], [])
    assert theirs.exact is not None
    assert theirs.exact.p.fraction == str(own)
    assert Fraction(theirs.exact.p.lower) <= own <= Fraction(theirs.exact.p.upper)
    assert Fraction(theirs.lower_bound) <= own
    adversary = theirs.exact.adversary
    if not 0 <= radius < estimator.n_features_in_:
        assert adversary is None
        return
    assert adversary is not None
    changed = x.copy()
    for change in adversary.changes:
        assert changed[change.feature] != change.value
        changed[change.feature] = change.value
    assert len(adversary.changes) == radius + 1
    after = estimator.probability_bounds([changed], 0, exact=True)[0][0, 0]
    low, high = (bound[0, radius + 1] for bound in estimator.probability_bounds([x], radius + 1, exact=True))
    assert after == (low if label else high)  # the worst there is
    assert adversary.p.fraction == str(after if label else 1 - after)
    assert adversary.prediction == (None if after == HALF else 1 - label)


@pytest.mark.parametrize("name", ["digits-tree", "digits-forest"])
def test_certificates_over_http_are_those_in_python(
    served_trees: Running, estimators: dict[str, SmoothedTrees], name: str
) -> None:
    estimator, inputs = estimators[name], BITS[:40]
    with Client(served_trees.url) as client:
        (info,) = [model for model in client.models().models if model.name == name]
        for x in (inputs, inputs.tolist(), inputs.astype(np.float32), inputs.astype(bool)):
            answer = client.certify(name, x)
            assert (answer.model, answer.sha256, answer.d) == (name, info.sha256, 64)
            assert (answer.n0, answer.n, answer.failure, answer.seed) == (0, 0, "0", 0)
            assert answer.noise == info.noise
            for row, result in zip(inputs, answer.results, strict=True):
                check_certificate(estimator, row, result)
        (single,) = client.certify(name, inputs[3]).results
        assert single == answer.results[3]


def test_features_are_named_if_the_file_has_names(served_trees: Running) -> None:
    with Client(served_trees.url) as client:
        for name, named in (("digits-tree", True), ("digits-forest", False)):
            (result,) = client.certify(name, BITS[0]).results
            assert result.exact is not None
            assert result.exact.adversary is not None
            for change in result.exact.adversary.changes:
                assert change.name == (NAMES[change.feature] if named else None)


def test_a_tie_abstains_and_an_adversary_may_lead_to_one(
    served_trees: Running, estimators: dict[str, SmoothedTrees]
) -> None:
    with Client(served_trees.url) as client:
        inputs = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.uint8)
        results = client.certify("tie", inputs).results
    for x, result in zip(inputs, results, strict=True):
        check_certificate(estimators["tie"], x, result)
    tie, to_a_tie, _, _ = results
    assert (tie.prediction, tie.radius) == (None, None)
    assert tie.exact is not None
    assert tie.exact.p.fraction == "1/2"
    assert (to_a_tie.prediction, to_a_tie.radius) == (1, 0)
    assert to_a_tie.exact is not None
    assert to_a_tie.exact.adversary is not None
    assert to_a_tie.exact.adversary.prediction is None
    assert to_a_tie.exact.adversary.p.fraction == "1/2"


def test_a_class_that_no_change_moves_has_the_radius_of_all_features(served_trees: Running) -> None:
    with Client(served_trees.url) as client:
        (result,) = client.certify("constant", [0, 1, 0]).results
    assert (result.prediction, result.radius) == (1, 3)
    assert result.exact is not None
    assert (result.exact.p.fraction, result.exact.adversary) == ("3/4", None)


def test_predictions_over_http_are_those_in_python(served_trees: Running, estimators: dict[str, SmoothedTrees]) -> None:
    estimator = estimators["digits-forest"]
    p = estimator.probability_bounds(BITS[:9], 0, exact=True)[0][:, 0]
    with Client(served_trees.url) as client:
        answer = client.predict("digits-forest", BITS[:9])
        (tie,) = client.predict("tie", [0, 1]).results
    assert (answer.n, answer.failure) == (0, "0")
    assert [result.prediction for result in answer.results] == [int(one > HALF) for one in p]
    assert [result.exact and result.exact.fraction for result in answer.results] == [
        str(max(one, 1 - one)) for one in p
    ]
    assert tie.prediction is None
    assert tie.exact is not None
    assert tie.exact.fraction == "1/2"


def test_answers_are_there_at_once_and_never_jobs(served_trees: Running) -> None:
    with Client(served_trees.url) as client:
        job = client.certify("digits-tree", BITS[0], wait=False)
        assert job.id is None
        result = job.result()

    async def certify() -> Any:
        async with AsyncClient(served_trees.url) as client:
            return await client.certify("digits-tree", BITS[0])

    assert asyncio.run(certify()).results == result.results


def test_fields_of_votes_may_be_left_out_and_change_nothing(served_trees: Running) -> None:
    plain = post(served_trees.url, "certify", model="digits-tree", x=BITS[0].tolist()).json()
    votes = {"n": 7, "n0": 3, "seed": 5, "failure": "0.1", "stopping": "anytime", "wait": 0, "alpha": 0.8}
    same = post(served_trees.url, "certify", model="digits-tree", x=BITS[0].tolist(), **votes).json()
    query = httpx2.post(f"{served_trees.url}/v1/certify?model=digits-tree", content=npy(BITS[0]), headers=NPY).json()
    for answer in (plain, same, query):
        answer.pop("seconds")
    assert plain == same == query


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"x": [1, 0]}, "x must be of shape [64], or several of them stacked; got [2]"),
        ({"x": []}, "x must be of shape [64], or several of them stacked; got [0]"),
        ({"x": [[0] * 64, [0] * 63]}, "x must be an array of numbers of one shape"),
        ({"x": ["1"] * 64}, "x must be an array of numbers of one shape"),
        ({"x": [[[0] * 64]]}, "x must be of shape [64], or several of them stacked; got [1, 1, 64]"),
        ({"x": [2] * 64}, "x must be features of 0 or 1; got 2"),
        ({"x": [-1] * 64}, "x must be features of 0 or 1; got -1"),
        ({"x": [0.5] * 64}, "x must be features of 0 or 1; got 0.5"),
        ({"x": [None] * 64}, "x must be an array of numbers of one shape"),
        ({"x": [2**70] * 64}, "x must be features of 0 or 1; got 1.18"),
        ({"x": [[0] * 64] * 257}, "x must be at most 256 inputs; got 257"),
        ({"alpha": "0.7"}, "alpha must be left out, or 4/5, as the model has it; got '0.7'"),
        ({"alpha": "half"}, "alpha must be left out, or 4/5, as the model has it; got 'half'"),
        ({"n": 0}, "n must be an integer from 1 to 100000000; got 0"),
        ({"n0": "many"}, "n0 must be an integer"),
        ({"r": 1}, "there is no field 'r' here"),
    ],
)
def test_a_wrong_value_is_one_clear_problem(served_trees: Running, fields: dict[str, Any], message: str) -> None:
    answer = post(served_trees.url, "certify", **{"model": "digits-tree", "x": [0] * 64, **fields})
    assert answer.status_code == 422
    assert message in answer.json()["detail"]


def test_work_that_outlasts_the_deadline_of_its_request_is_503(tmp_path: Path) -> None:
    length = 3_000  # one long path, whose integers grow at every node
    feature, left, right = np.full((3, 2 * length + 1), -1)
    inner = np.arange(length)
    feature[2 * inner], left[2 * inner], right[2 * inner] = inner, 2 * inner + 1, 2 * inner + 2
    value = np.arange(2 * length + 1) % 4 / 4
    path = SmoothedTreeClassifier.from_arrays(feature, left, right, value, n_features=length, alpha="9999/10000")
    save_trees(path, tmp_path / "path.json")
    settings = ServeSettings(
        models=str(tmp_path), jobs=str(tmp_path / "jobs"), log_level="error", request_timeout=0.5, max_seconds=10_000
    )
    with serving(create_app(settings)) as url:
        inputs = np.zeros((256, length), np.uint8)
        answer = httpx2.post(f"{url}/v1/certify?model=path", content=npy(inputs), headers=NPY, timeout=PATIENCE)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:ellzero:problem:timeout")
    assert answer.json()["detail"] == "no answer within 0.5 seconds"


def test_a_network_still_needs_votes_and_names_in_problems_include_trees(served_trees: Running) -> None:
    answer = post(served_trees.url, "certify", model="demo-digits", x=[[[0] * 8] * 8])
    assert (answer.status_code, answer.json()["detail"]) == (422, "n is missing")
    unknown = post(served_trees.url, "certify", model="oak", x=[0] * 64)
    assert unknown.status_code == 404
    names = "constant, demo-digits, digits-forest, digits-tree, tie"
    assert unknown.json()["detail"] == f"no model is called oak; there are {names}"


def test_examples_have_the_classes_of_the_file_and_no_noise_is_drawn(served_trees: Running) -> None:
    answer = httpx2.get(f"{served_trees.url}/v1/examples?model=digits-tree", timeout=PATIENCE).json()
    assert [example["x"] for example in answer["examples"]] == BITS[:5].tolist()
    assert [example["label"] for example in answer["examples"]] == [int(label == 8) for label in LABELS[:5]]
    missing = httpx2.get(f"{served_trees.url}/v1/examples?model=tie", timeout=PATIENCE)
    assert missing.status_code == 404
    assert "the service has no tie.examples.npz beside the model" in missing.json()["detail"]
    noisy = httpx2.get(f"{served_trees.url}/v1/noisy?model=digits-tree&example=0", timeout=PATIENCE)
    assert noisy.status_code == 422
    assert "model must be a network: no noise is drawn for trees and forests" in noisy.json()["detail"]


WITHOUT = """
import sys
from importlib import util
from starlette.testclient import TestClient
missing = sys.argv[3].split(",")

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
real = util.find_spec
util.find_spec = lambda name, package=None: None if name in missing else real(name, package)
from ellzero.serve import ServeSettings, create_app
with TestClient(create_app(ServeSettings(log_level="error", models=sys.argv[1], jobs=sys.argv[2]))) as client:
    print(client.get("/v1/models").text)
    for name in ("digits-tree", "network"):
        answer = client.post("/v1/certify", json={"model": name, "x": [0] * 64, "n": 10})
        print(answer.status_code, answer.text)
"""


def run_without(missing: str, folder: Path) -> tuple[dict[str, Any], list[tuple[int, dict[str, Any]]]]:
    """The models of a service without some modules, and the statuses and answers of two certificates."""
    command = [sys.executable, "-c", WITHOUT, str(folder), str(folder / "jobs"), missing]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    models, *answers = done.stdout.splitlines()
    return json.loads(models), [(int(line[:3]), json.loads(line[4:])) for line in answers]


def test_without_torch_trees_are_certified_and_networks_say_what_is_missing(tmp_path: Path) -> None:
    add_trees(tmp_path)
    (tmp_path / "network.safetensors").write_bytes(b"")
    models, [tree, network] = run_without("torch", tmp_path)
    assert [model["kind"] for model in models["models"]] == ["tree", "forest", "tree", "tree"]
    reason = str(MissingExtra("voting", "predict", "torch"))
    assert models["unusable"] == [{"name": name, "reason": reason} for name in ("demo-digits", "network")]
    assert tree[0] == 200
    assert tree[1]["results"][0]["exact"]["p"]["fraction"]
    assert network[0] == 422
    assert network[1]["detail"] == f"this service cannot use models: {reason}"


def test_without_scikit_learn_trees_are_listed_as_unusable_with_the_reason(tmp_path: Path) -> None:
    add_trees(tmp_path)
    models, [tree, _] = run_without("torch,sklearn", tmp_path)
    reason = str(MissingExtra("is a tree or forest, which", "trees", "sklearn"))
    assert {"name": "digits-tree", "reason": reason} in models["unusable"]
    assert (tree[0], tree[1]["type"]) == (422, "urn:ellzero:problem:model-unusable")
    assert tree[1]["detail"] == f"the model digits-tree cannot be used: it {reason}"
