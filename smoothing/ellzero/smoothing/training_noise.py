"""Noise for training: one noisy copy of each input of a batch, drawn exactly as for votes."""

import hashlib

import torch
from torch import Tensor

from ellzero.certificates import Family
from ellzero.core.numbers import read_integer
from ellzero.smoothing.models.card import Feed
from ellzero.smoothing.models.model_io import InputLike, check_feed, prepare_for_model, read_levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import RandomSource, Stage, open_source
from ellzero.smoothing.noise.registry import read_noise


def add_noise(
    batch: InputLike, noise: Family | NoiseFamily, *, seed: int, step: int = 0, feed: Feed | str = Feed.SCALED
) -> Tensor:
    """Draw one noisy copy of each input of ``batch``, in the form in which `SmoothedClassifier` gives it to a model.

    ``batch`` has one input per row: integers 0..K, or floats that are multiples of 1/K. The result is on its device:
    float32 scaled to [0, 1], or int64 with ``feed="levels"``. The same seed, step and noise give the same random
    numbers, so each batch needs its own ``step`` (or seed).
    """
    noise = read_noise(noise)
    device = batch.device if isinstance(batch, Tensor) else torch.device("cpu")
    check_feed(noise, Feed.of(feed))
    levels = noise.read_batch(read_levels(batch, noise.levels)).to(device)
    source = open_training_source(
        noise,
        read_integer(seed, "seed", 0),
        epoch=0,
        stage=Stage.TRAIN,
        step=read_integer(step, "step", 0),
        device=device,
    )
    return prepare_for_model(noise.sample_batch(levels, source), noise.levels, Feed.of(feed))


def open_training_source(
    noise: NoiseFamily, seed: int, epoch: int, stage: Stage, step: int, device: torch.device
) -> RandomSource:
    """The stream of one step of an epoch."""
    key = hashlib.blake2b(f"{seed} {noise.tag} {epoch}".encode(), digest_size=16).digest()
    return open_source(key, stage, step, device)
