"""What can be shown of a model by its card alone, without its weights: its noise, and inputs to try it on."""

from functools import lru_cache
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.serve.lookup.request_models import Exact
from ellzero.serve.platform.problems import HttpProblem
from ellzero.smoothing.data.datasets import ArrayData, binarize
from ellzero.smoothing.data.loading import DIGITS, load_data
from ellzero.smoothing.inputs import read_levels
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key
from ellzero.smoothing.noise.registry import make_noise


def noise_for(card: ModelCard, alpha: Exact | None) -> NoiseFamily:
    """The noise that the model was trained with, with another α if one is given."""
    trained = dict(card.noise) or {"family": "discrete", "levels": card.levels, "unit": "coordinate"}
    if alpha is not None:
        if trained["family"] != "discrete":
            raise InvalidInput("alpha", f"left out for {trained['family']} noise", alpha)
        trained["alpha"] = alpha
    elif trained["family"] == "discrete" and "alpha" not in trained:
        raise InvalidInput("alpha", "given: the model does not say what it was trained with", None)
    return make_noise(trained)


def examples_of(name: str, card: ModelCard) -> ArrayData:
    """Inputs to try a model on, one of each class and none that it was trained on, where its data ships."""
    if card.data != DIGITS:
        raise HttpProblem(404, f"there are no examples for {name}: only the digits ship with the service")
    chosen = _one_of_each(card.binarize)
    if chosen.shape != card.shape or chosen.levels != card.levels:
        raise HttpProblem(404, f"there are no examples for {name}: the digits do not fit it")
    return chosen


def noisy_example(examples: ArrayData, example: int, noise: NoiseFamily, seed: int) -> list[Any]:
    """An example under noise, as the first vote of a stage of its own."""
    if example >= len(examples.labels):
        raise InvalidInput("example", f"an integer from 0 to {len(examples.labels) - 1}", example)
    x = read_levels(examples.inputs([example])[0], noise.levels)
    source = open_source(stream_key(seed, noise.tag, x), Stage.SHOW, 0, x.device)
    shown: list[Any] = noise.sample(x, source, 1)[0].tolist()
    return shown


@lru_cache(16)
def _one_of_each(threshold: int | None) -> ArrayData:
    data = load_data(DIGITS, "test")
    if threshold is not None:
        data = binarize(data, threshold)
    labels = data.labels.tolist()
    firsts = [labels.index(label) for label in sorted(set(labels))]
    return ArrayData(data.name, data.inputs(firsts), data.labels[firsts], data.levels, data.class_names)
