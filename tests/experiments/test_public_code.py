"""The public code's protocol: grey pixels stay or become a fair bit, and no result is called a certificate."""

from fractions import Fraction
from pathlib import Path

import pytest
import torch

from ellzero.certificates import Discrete, InvalidInput, Votes, radius_from_votes
from ellzero.experiments.public_code import GreyNoise, GreyRun, for_grey
from ellzero.smoothing import CertifySettings, DiscreteNoise, SmoothedClassifier
from ellzero.smoothing.data.datasets import ArrayData
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.models.files import DEMO_MODELS, load_model
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key


def draw(noise: GreyNoise | DiscreteNoise, x: torch.Tensor, count: int) -> torch.Tensor:
    source = open_source(stream_key(3, noise.tag, x.numpy()), Stage.SHOW, 0)
    return torch.from_numpy(noise.sample(x.numpy(), source, count))


@pytest.mark.parametrize("alpha", ["0.8", "0.55", "0.96"])
def test_a_grey_pixel_stays_or_becomes_black_or_white_with_the_stated_probabilities(alpha: str) -> None:
    x = torch.tensor([0, 1, 77, 254, 255], dtype=torch.uint8)
    samples = draw(GreyNoise(alpha), x, 60_000)
    share, error = float(Fraction(alpha)), 5 * 0.5 / 60_000**0.5
    for place, level in enumerate(x.tolist()):
        seen = samples[:, place]
        for value, expected in ((0, 1 - share), (255, 1 - share)):
            stays = 2 * share - 1 if value == level else 0
            assert (seen == value).double().mean().item() == pytest.approx(expected + stays, abs=error)
        assert set(seen.tolist()) == {0, level, 255}


def test_on_black_and_white_it_is_the_discrete_noise_and_batches_have_the_same_law() -> None:
    x = torch.tensor([0, 255] * 50, dtype=torch.uint8)
    grey = draw(GreyNoise("0.8"), x, 4_000)
    changed = (grey != x).double().mean().item()
    assert changed == pytest.approx(0.2, abs=0.01)
    source = open_source(b"batch", Stage.SHOW, 0)
    batch = torch.from_numpy(GreyNoise("0.8").sample_batch(x.repeat(4_000, 1).numpy(), source))
    assert (batch != x).double().mean().item() == pytest.approx(0.2, abs=0.01)
    assert GreyNoise("0.8").radius(Votes(990, 1_000), 9) == radius_from_votes(Discrete(1, "0.8"), Votes(990, 1_000), 9)


def test_alpha_must_leave_something_of_the_image() -> None:
    with pytest.raises(InvalidInput, match="alpha must be above 1/2"):
        GreyNoise("0.5")


def test_its_runs_say_that_they_are_no_certificates(tmp_path: Path) -> None:
    saved = load_model(DEMO_MODELS / "demo-digits.safetensors")
    levels = torch.randint(0, 17, (3, *saved.card.shape)).to(torch.uint8).numpy()
    data = ArrayData("grey digits", levels, torch.zeros(3, dtype=torch.int64).numpy(), 17, tuple("0123456789"))
    run = GreyRun(
        model=str(DEMO_MODELS / "demo-digits.safetensors"),
        model_digest=saved.digest,
        allowed=(),
        source=DataSource("digits", "test", None, 224, None),
        data_digest=data.digest,
        noise=GreyNoise("0.9", 17).description(),
        settings=CertifySettings.of(10, 100, "0.1", 1),
        device="cpu",
        batch_size=None,
        autocast=None,
        compile=False,
    )
    assert run.manifest(saved.card, data)["certificate"] == "none: grey images are not in {0, 1}^d"
    classifier = run.make_classifier(for_grey(saved, 17))
    assert isinstance(classifier, SmoothedClassifier)
    (result,) = classifier.certify_many(levels[:1], run.settings)
    assert result.noise["family"] == "grey"
