"""Training: it learns, a stopped one resumes to the same weights, and mistakes are one line."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from smoothing.data_writers import write_image

from ellzero.certificates import InvalidInput
from ellzero.smoothing import DiscreteNoise, GaussianNoise, add_noise
from ellzero.smoothing.data.datasets import ArrayData, Levels
from ellzero.smoothing.data.folders import ImageFolder, open_images
from ellzero.smoothing.errors import BadModelFile, Diverged, ModelFailed
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import ModelFile, load_model
from ellzero.smoothing.training import IMAGENET_RECIPE, Epoch, Recipe, Training

CPU = torch.device("cpu")
NOISE = DiscreteNoise(3, "0.8")
CARD = ModelCard("mlp", (1, 4, 4), 2, 4, config={"width": 16, "depth": 1})
RECIPE = Recipe(epochs=4, batch=16, decay_every=2, seed=3)


def stripes(count: int = 300) -> ArrayData:
    """Bright rows or bright columns."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, 2, count)
    images = generator.integers(0, 2, (count, 1, 4, 4))
    for image, label in zip(images, labels, strict=True):
        image[0, 1 if label else slice(None), slice(None) if label else 1] = 3
    return ArrayData("stripes", images.astype(np.uint8), labels.astype(np.int64), 4, ("columns", "rows"))


def weights(path: Path) -> list[torch.Tensor]:
    return list(load_model(path).network.state_dict().values())


def same(one: Path, other: Path) -> bool:
    return all(torch.equal(a, b) for a, b in zip(weights(one), weights(other), strict=True))


def test_a_network_learns_under_noise_and_its_card_says_how(tmp_path: Path) -> None:
    epochs: list[Epoch] = []
    steps: list[tuple[int, int]] = []
    out = tmp_path / "model.safetensors"
    training = Training(stripes(), NOISE, CARD, RECIPE, out, CPU)
    training.run(epochs.append, lambda done, total, loss: steps.append((done, total)))
    assert [epoch.number for epoch in epochs] == [1, 2, 3, 4]
    assert epochs[-1].loss < epochs[0].loss
    assert max(epoch.validation for epoch in epochs) > 0.8
    assert steps[-1] == (4 * 17, 4 * 17)  # 270 inputs in batches of 16
    card = ModelFile.read(out).card
    assert card.noise == NOISE.description()
    assert card.training["validation"] == max(epoch.validation for epoch in epochs)
    assert card.training["epochs"] == 4
    assert len((tmp_path / "model.training.csv").read_text().splitlines()) == 5


class Stop(Exception):
    pass


CONSISTENT = replace(RECIPE, schedule="cosine", copies=3, consistency=2.0)


@pytest.mark.parametrize(
    ("noise", "recipe"), [(NOISE, RECIPE), (GaussianNoise("1/4", k=3), RECIPE), (NOISE, CONSISTENT)]
)
def test_a_stopped_training_resumes_to_the_same_weights(
    tmp_path: Path, noise: DiscreteNoise | GaussianNoise, recipe: Recipe
) -> None:
    def stop(epoch: Epoch) -> None:
        if epoch.number == 2:
            raise Stop

    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    Training(stripes(), noise, CARD, recipe, whole, CPU).run()
    with pytest.raises(Stop):
        Training(stripes(), noise, CARD, recipe, parts, CPU).run(stop)
    assert not parts.exists()
    torch.rand(7)  # what others draw meanwhile does not matter
    later: list[int] = []
    Training(stripes(), noise, CARD, recipe, parts, CPU).run(lambda epoch: later.append(epoch.number))
    assert later == [3, 4]
    assert same(whole, parts)


def test_a_training_leaves_the_random_numbers_of_others_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    Training(stripes(), NOISE, CARD, replace(RECIPE, epochs=1), tmp_path / "model.safetensors", CPU).run()
    assert torch.equal(torch.rand(3), expected)


def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    Training(stripes(), NOISE, CARD, replace(RECIPE, epochs=1), out, CPU).run()
    for recipe, noise, data in (
        (RECIPE, NOISE, stripes()),
        (replace(RECIPE, epochs=1), DiscreteNoise(3, "0.7"), stripes()),
        (replace(RECIPE, epochs=1), NOISE, stripes(200)),
    ):
        with pytest.raises(BadModelFile, match="belongs to another training; give another --out"):
            Training(data, noise, CARD, recipe, out, CPU).run()
    checkpoint = tmp_path / "model.checkpoint.pt"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1_000])
    with pytest.raises(BadModelFile, match="is damaged; remove it to start again"):
        Training(stripes(), NOISE, CARD, replace(RECIPE, epochs=1), out, CPU).run()


def test_a_training_without_options_is_the_one_from_before_they_existed(tmp_path: Path) -> None:
    """Its checkpoints have the same identity, so that it resumes; and its weights are those of the plain recipe."""
    described = {"epochs", "batch", "rate", "momentum", "weight_decay", "decay_every", "decay", "seed"}
    assert set(Recipe().describe()) == described
    plain, options = tmp_path / "plain.safetensors", tmp_path / "options.safetensors"
    Training(stripes(), NOISE, CARD, RECIPE, plain, CPU).run()
    Training(stripes(), NOISE, CARD, replace(RECIPE, schedule="steps", copies=1, consistency=0.0), options, CPU).run()
    assert plain.read_bytes() == options.read_bytes()


@pytest.mark.parametrize("changes", [{"copies": 2}, {"copies": 2, "consistency": 1.0}, {"schedule": "cosine"}])
def test_each_option_changes_the_weights_and_is_on_the_card(tmp_path: Path, changes: dict[str, object]) -> None:
    plain, out = tmp_path / "plain.safetensors", tmp_path / "model.safetensors"
    recipe = replace(RECIPE, epochs=1)
    Training(stripes(), NOISE, CARD, recipe, plain, CPU).run()
    card = Training(stripes(), NOISE, CARD, replace(recipe, **changes), out, CPU).run()  # type: ignore[arg-type]
    assert not same(plain, out)
    assert changes.items() <= card.training.items()


def test_consistency_makes_the_answers_on_copies_more_alike(tmp_path: Path) -> None:
    """By the spread of an input's scores over noisy copies, as probabilities."""
    spreads = []
    for number, consistency in enumerate((0.0, 20.0)):
        out = tmp_path / f"{number}.safetensors"
        recipe = replace(RECIPE, epochs=6, copies=4, consistency=consistency)
        Training(stripes(), NOISE, CARD, recipe, out, CPU).run()
        network = load_model(out).network
        inputs = torch.from_numpy(stripes().inputs(range(50)))
        noisy = torch.cat([add_noise(inputs, NOISE, seed=step) for step in range(20)])
        with torch.inference_mode():
            spreads.append(float(network(noisy).softmax(1).view(20, 50, 2).std(0).mean()))
    assert spreads[1] < spreads[0]


def test_under_a_cosine_the_last_epoch_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    epochs: list[Epoch] = []
    training = Training(stripes(), NOISE, CARD, replace(RECIPE, schedule="cosine", rate=0.5), out, CPU)
    card = training.run(epochs.append)
    assert card.training["validation"] == epochs[-1].validation
    last = torch.load(training.checkpoint, weights_only=True)
    assert all(torch.equal(a, b) for a, b in zip(weights(out), last["weights"].values(), strict=True))
    assert last["scheduler"]["_last_lr"] == [0.0]


def test_a_batch_suits_the_data() -> None:
    assert Recipe().batch_for(55_000) == 400  # the paper's
    assert Recipe().batch_for(1_295) == 32
    assert Recipe(batch=7).batch_for(55_000) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be"),
        ({"batch": 0}, "batch must be"),
        ({"rate": 0.0}, "rate must be a number above 0"),
        ({"rate": float("nan")}, "rate must be a number above 0"),
        ({"seed": -1}, "seed must be"),
        ({"schedule": "linear"}, "schedule must be steps or cosine"),
        ({"copies": 0}, "copies must be an integer"),
        ({"copies": 2, "consistency": -1.0}, "consistency must be a number from 0"),
        ({"copies": 2, "consistency": float("nan")}, "consistency must be a number from 0"),
        ({"consistency": 1.0}, "copies must be at least 2 with consistency"),
    ],
)
def test_a_wrong_recipe_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Recipe(**options)  # type: ignore[arg-type]


def test_too_few_inputs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="data must be at least ten inputs"):
        Training(stripes(5), NOISE, CARD, RECIPE, tmp_path / "model.safetensors", CPU).run()


def test_data_of_one_class_is_refused(tmp_path: Path) -> None:
    data = replace(stripes(), labels=np.zeros(300, np.int64), class_names=("rows",))
    with pytest.raises(InvalidInput, match="data must be of at least two classes"):
        Training(data, NOISE, replace(CARD, num_classes=1), RECIPE, tmp_path / "model.safetensors", CPU)


def test_a_training_that_diverges_says_so_and_saves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    with pytest.raises(Diverged, match="training diverged in epoch 1: its loss is not a number; a rate below 900"):
        Training(stripes(), NOISE, CARD, replace(RECIPE, rate=900.0), out, CPU).run()
    assert not out.exists()


def image_folder(folder: Path, count: int = 40) -> ImageFolder:
    """Images of noise, in turn of two classes."""
    for number in range(count):
        name = ("blue", "red")[number % 2]
        write_image(folder / name / f"{number}.png", 30, 24, number)
    return open_images(folder, "train", 8)


IMAGES = ModelCard("mlp", (3, 8, 8), 2, 256, config={"width": 8, "depth": 1})
CROPS = Recipe(epochs=2, batch=10, seed=3, crop=True)
BYTES = DiscreteNoise(255, "0.8")


def test_every_epoch_learns_from_other_parts_of_images_and_is_judged_by_the_middle(tmp_path: Path) -> None:
    data = image_folder(tmp_path / "images")
    streams: list[tuple[str, tuple[int, ...]]] = []
    middles: list[tuple[int, ...]] = []

    class Watched(ImageFolder):
        def random_crops(self, indices: Sequence[int] | NDArray[np.int64], stream: str) -> Levels:
            streams.append((stream, tuple(int(index) for index in indices)))
            return super().random_crops(indices, stream)

        def inputs(self, indices: Sequence[int] | NDArray[np.int64]) -> Levels:
            middles.append(tuple(int(index) for index in indices))
            return super().inputs(indices)

    watched = Watched(**vars(data))
    Training(watched, BYTES, IMAGES, CROPS, tmp_path / "model.safetensors", CPU).run()
    assert {stream for stream, _ in streams} == {"3 crop 0", "3 crop 1"}
    held_out = set(middles[0])
    assert len(held_out) == 4
    assert middles == [middles[0]] * 2
    for stream in ("3 crop 0", "3 crop 1"):
        indices = [index for name, batch in streams if name == stream for index in batch]
        assert sorted(indices) == sorted(set(range(40)) - held_out)


def test_a_stopped_training_on_crops_resumes_to_the_same_weights(tmp_path: Path) -> None:
    def stop(epoch: Epoch) -> None:
        raise Stop

    data = image_folder(tmp_path / "images")
    whole, parts, plain = (tmp_path / f"{name}.safetensors" for name in ("whole", "parts", "plain"))
    Training(data, BYTES, IMAGES, CROPS, whole, CPU).run()
    with pytest.raises(Stop):
        Training(data, BYTES, IMAGES, CROPS, parts, CPU).run(stop)
    Training(data, BYTES, IMAGES, CROPS, parts, CPU).run()
    assert same(whole, parts)
    Training(data, BYTES, IMAGES, replace(CROPS, crop=False), plain, CPU).run()
    assert not same(whole, plain)
    assert ModelFile.read(whole).card.training["crop"] is True


def test_crops_of_data_that_are_not_images_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="crop must be false for data that are not folders of images"):
        Training(stripes(), NOISE, CARD, replace(RECIPE, crop=True), tmp_path / "model.safetensors", CPU)


def test_plain_momentum_is_not_nesterovs(tmp_path: Path) -> None:
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    Training(stripes(), NOISE, CARD, RECIPE, one, CPU).run()
    Training(stripes(), NOISE, CARD, replace(RECIPE, nesterov=False), other, CPU).run()
    assert not same(one, other)
    assert ModelFile.read(other).card.training["nesterov"] is False


def test_the_recipe_for_imagenet_is_the_papers() -> None:
    """Batches of 300, SGD with momentum 0.9, the rate 0.1 divided by ten every 30 of 90 epochs, weight decay 1e-4."""
    recipe = IMAGENET_RECIPE
    assert (recipe.batch, recipe.momentum, recipe.nesterov) == (300, 0.9, False)
    assert (recipe.rate, recipe.decay, recipe.decay_every, recipe.epochs) == (0.1, 0.1, 30, 90)
    assert (recipe.weight_decay, recipe.crop) == (1e-4, True)


def test_trainings_from_before_crops_and_plain_momentum_resume() -> None:
    """What cards and checkpoints state of a recipe identifies a training."""
    assert set(Recipe().describe()) == {
        "epochs", "batch", "rate", "momentum", "weight_decay", "decay_every", "decay", "seed",
    }  # fmt: skip


class FailsBackward(torch.autograd.Function):
    """The identity, whose gradient cannot be computed."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, *gradients: torch.Tensor) -> torch.Tensor:
        raise FailingNetwork.error


class FailingNetwork(torch.nn.Module):
    error = Exception()

    def __init__(self, **config: object) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(16, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = FailsBackward.apply(self.layer(x.flatten(1)))  # type: ignore[no-untyped-call]
        return scores


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no gradient\nfor this"), "the model raised ValueError: no gradient"),
        (torch.OutOfMemoryError("no"), "the model ran out of memory on cpu with 16 samples; a smaller batch may help"),
    ],
)
def test_an_error_of_the_backward_pass_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    monkeypatch.setattr(FailingNetwork, "error", error)
    factory = f"{__name__}:FailingNetwork"
    training = Training(
        stripes(),
        NOISE,
        replace(CARD, architecture=factory, config={}),
        RECIPE,
        tmp_path / "model.safetensors",
        CPU,
        allowed=(factory,),
    )
    with pytest.raises(ModelFailed) as failed:
        training.run()
    assert str(failed.value) == message
