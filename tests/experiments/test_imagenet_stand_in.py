"""The stand-in for ImageNet: written and trained once, and enough for the whole experiment."""

from pathlib import Path

import numpy as np
import torch

from ellzero.experiments.imagenet_stand_in import train_networks, write_images
from ellzero.experiments.imagenet_weights import NoiseLevel
from ellzero.smoothing.data.loading import load_data
from ellzero.smoothing.models.files import ModelFile


def test_digits_become_images_and_small_networks_learn_them(tmp_path: Path) -> None:
    data, weights = tmp_path / "digits", tmp_path / "weights"
    level = NoiseLevel("alpha", "0.8")
    logged: list[str] = []
    write_images(data)
    train_networks(data, weights, [level], torch.device("cpu"), logged.append)
    assert logged == ["training a small network under noise with alpha = 0.8"]
    for split, count in (("train", 1_438), ("test", 359)):
        images, digits = load_data(str(data), split, image_size=32), load_data("digits", split)
        assert (images.shape, images.class_names) == ((3, 32, 32), digits.class_names)
        assert np.bincount(images.labels).tolist() == np.bincount(digits.labels).tolist()
        assert len(images.labels) == count
    card = ModelFile.read(weights / "alpha-0.8.safetensors").card
    assert card.noise == level.make_noise().description()
    assert card.training["crop"] is True
    assert card.training["validation"] > 0.3  # of ten classes
    digest = load_data(str(data), "test", image_size=32).digest
    before = (weights / "alpha-0.8.safetensors").stat().st_mtime_ns
    (data / "train" / "0").rename(tmp_path / "away")
    write_images(data)
    train_networks(data, weights, [level], torch.device("cpu"), logged.append)
    assert len(logged) == 1
    assert len(load_data(str(data), "train", image_size=32).labels) == 1_438
    assert load_data(str(data), "test", image_size=32).digest == digest
    assert (weights / "alpha-0.8.safetensors").stat().st_mtime_ns == before
