"""The model that ships: small, what its card says, and of use at once."""

import json
from pathlib import Path

from command_line import Ellzero

from ellzero.smoothing import CertifySettings, SmoothedClassifier
from ellzero.smoothing.data.datasets import binarize
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.files import DEMO_MODELS, find_model, load_model, model_names
from ellzero.smoothing.noise.registry import make_noise


def test_it_is_small_and_comes_with_the_package() -> None:
    assert model_names(DEMO_MODELS) == ["demo-digits"]
    assert find_model("demo-digits", Path("nowhere"), DEMO_MODELS).stat().st_size < 100_000
    assert sorted(path.name for path in DEMO_MODELS.iterdir()) == ["demo-digits.safetensors"]


def test_it_does_what_its_card_says() -> None:
    saved = load_model(find_model("demo-digits", DEMO_MODELS))
    card = saved.card
    assert (card.data, card.binarize, card.shape, card.levels) == ("digits", 8, (1, 8, 8), 2)
    assert card.binarize is not None
    data = binarize(load_data(card.data, "test"), card.binarize)
    classifier = SmoothedClassifier(saved.network, make_noise(card.noise), card.num_classes, "cpu")
    results = list(classifier.certify_many(data.inputs(range(60)), CertifySettings.of(100, 2_000, "0.001", 5)))
    right = [result for result, label in zip(results, data.labels, strict=False) if result.prediction == label]
    assert len(right) > 45
    assert sum(result.radius or 0 for result in right) > 5


def test_a_new_user_certifies_without_training(ellzero: Ellzero, tmp_path: Path) -> None:
    out = tmp_path / "results"
    code, printed, err = ellzero(f"certify --model demo-digits --n 500 --limit 5 --executor local --out {out}")
    assert code == 0, err
    assert f"{out}: 5 inputs certified" in printed
    assert json.loads(ellzero(f"report {out} --json").out)["run"]["model"]["name"] == "demo-digits"
    code, _, err = ellzero(f"certify --model demo-digit --out {out}")
    assert code == 1
    assert err.strip() == "ellzero: no model in models is called demo-digit; the only one is demo-digits"
