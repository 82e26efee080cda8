"""Examples beside a model: what is shown, and what is refused with a reason."""

from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from serve.running import Running
from serve.voting_models import PATIENCE, post

from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.voting.examples import load_examples
from ellzero.smoothing.models.card import ModelCard

CARD = ModelCard("mlp", (28, 28), 10, 256)
DIGITS_CARD = ModelCard("mlp", (1, 8, 8), 10, 2, data="digits", binarize=8)
IMAGES = np.arange(3 * 28 * 28, dtype=np.uint8).reshape(3, 28, 28)
LABELS = np.array([7, 0, 9])


def write_examples(folder: Path, **arrays: Any) -> Path:
    path = folder / "mnist.examples.npz"
    np.savez_compressed(path, **arrays)
    return path


def test_a_file_beside_a_model_has_its_examples(tmp_path: Path) -> None:
    examples = load_examples("mnist", CARD, write_examples(tmp_path, x=IMAGES, y=LABELS))
    assert np.array_equal(examples.inputs([0, 1, 2]), IMAGES)
    assert examples.labels.tolist() == [7, 0, 9]


def test_a_file_goes_before_the_bundled_digits(tmp_path: Path) -> None:
    path = tmp_path / "digits.examples.npz"
    assert len(load_examples("digits", DIGITS_CARD, path).labels) == 10
    np.savez(path, x=np.zeros((1, 1, 8, 8), bool), y=np.array([4]))
    assert load_examples("digits", DIGITS_CARD, path).labels.tolist() == [4]


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"x": IMAGES, "y": np.array([7, 0, 10])}, "has the class 10, outside of 0..9"),
        ({"x": IMAGES[:, :8, :8], "y": LABELS}, "has inputs of shape [8, 8] with 256 levels"),
        ({"x": IMAGES // 16, "y": LABELS, "levels": 16}, "with 16 levels, and the model takes [28, 28] with 256"),
        ({"x": np.zeros((33, 28, 28), np.uint8), "y": np.zeros(33, int)}, "has 33 inputs, and must have 1 to 32"),
        ({"x": IMAGES[:0], "y": LABELS[:0]}, "has 0 inputs, and must have 1 to 32"),
        ({"x": np.zeros((4000, 28, 28), np.uint8), "y": np.zeros(4000, int)}, "bytes of arrays, more than 1,048,576"),
        ({"x": IMAGES}, "the array y"),
        ({"x": IMAGES.astype(object), "y": LABELS}, ".npz"),
    ],
)
def test_examples_that_cannot_be_shown_are_refused_with_the_reason(
    tmp_path: Path, arrays: dict[str, Any], reason: str
) -> None:
    path = write_examples(tmp_path, **arrays)
    with pytest.raises(HttpProblem) as caught:
        load_examples("mnist", CARD, path)
    assert caught.value.status == 404
    assert "there are no examples for mnist: mnist.examples.npz " in str(caught.value)
    assert reason in str(caught.value)


def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mnist.examples.npz"
    path.write_bytes(b"x")
    with pytest.raises(HttpProblem, match=r"mnist\.examples\.npz is not an \.npz file"):
        load_examples("mnist", CARD, path)


def test_without_a_file_the_reason_names_it(tmp_path: Path) -> None:
    with pytest.raises(HttpProblem, match=r"the service has no mnist\.examples\.npz beside the model"):
        load_examples("mnist", CARD, tmp_path / "mnist.examples.npz")


def test_examples_of_the_digits_fit_the_model(voting: Running) -> None:
    result = httpx2.get(f"{voting.url}/v1/examples?model=digits", timeout=PATIENCE).json()
    assert result["data"] == "digits, 1 from level 8 on"
    assert [example["label"] for example in result["examples"]] == list(range(10))
    x = np.array([example["x"] for example in result["examples"]])
    assert x.shape == (10, 1, 8, 8)
    assert set(x.ravel()) == {0, 1}
    answer = post(voting.url, "certify", model="digits", x=x.tolist(), n=50, wait=20)
    assert (answer.status_code, len(answer.json()["results"])) == (200, 10)


def test_a_noisy_example_has_the_requested_noise(voting: Running) -> None:
    clean = np.array(httpx2.get(f"{voting.url}/v1/examples?model=digits", timeout=PATIENCE).json()["examples"][3]["x"])
    shares = {}
    for alpha in ("0.99", "0.6"):
        url = f"{voting.url}/v1/noisy?model=digits&example=3&alpha={alpha}"
        drawn = [np.array(httpx2.get(f"{url}&seed={seed}").json()["x"]) for seed in range(40)]
        assert httpx2.get(f"{url}&seed=7").json()["x"] == drawn[7].tolist()
        shares[alpha] = np.mean([(one == clean).mean() for one in drawn])
    assert shares["0.99"] == pytest.approx(0.99, abs=0.02)
    assert shares["0.6"] == pytest.approx(0.6, abs=0.05)


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
def test_missing_examples_are_a_problem_with_the_reason(voting: Running, path: str, status: int, message: str) -> None:
    answer = httpx2.get(f"{voting.url}/v1/{path}", timeout=PATIENCE)
    assert answer.status_code == status
    assert message in answer.json()["detail"]
