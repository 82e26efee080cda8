"""A model's noise, and example inputs to try it on: what its card alone determines, without its weights."""

from functools import lru_cache
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.serve.platform.field_types import Exact
from ellzero.serve.platform.problems import HttpProblem
from ellzero.smoothing.data.datasets import ArrayData, binarize
from ellzero.smoothing.data.loading import DIGITS, load_data
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.model_io import read_levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key
from ellzero.smoothing.noise.registry import make_noise


def make_model_noise(card: ModelCard, alpha: Exact | None) -> NoiseFamily:
    """Return the noise that the model was trained with, with another α if one is given."""
    trained = dict(card.noise) or {"family": "discrete", "levels": card.levels, "unit": "coordinate"}
    if alpha is not None:
        if trained["family"] != "discrete":
            raise InvalidInput("alpha", f"left out for {trained['family']} noise", alpha)
        trained["alpha"] = alpha
    elif trained["family"] == "discrete" and "alpha" not in trained:
        raise InvalidInput("alpha", "given: the model does not say what it was trained with", None)
    return make_noise(trained)


def load_examples(name: str, card: ModelCard) -> ArrayData:
    """Return inputs to try a model on, one of each class and none of its training data, if its data is bundled."""
    if card.data != DIGITS:
        raise HttpProblem(404, f"there are no examples for {name}: only the digits are bundled with the service")
    examples = _one_of_each(card.binarize)
    if examples.shape != card.shape or examples.levels != card.levels:
        raise HttpProblem(404, f"there are no examples for {name}: the digits do not fit it")
    return examples


def add_noise(examples: ArrayData, example: int, noise: NoiseFamily, seed: int) -> list[Any]:
    """Return an example with noise, drawn as the first sample of a stage of its own."""
    if example >= len(examples.labels):
        raise InvalidInput("example", f"an integer from 0 to {len(examples.labels) - 1}", example)
    x = read_levels(examples.inputs([example])[0], noise.levels)
    source = open_source(stream_key(seed, noise.tag, x), Stage.SHOW, 0, x.device)
    noisy: list[Any] = noise.sample(x, source, 1)[0].tolist()
    return noisy


@lru_cache(16)
def _one_of_each(threshold: int | None) -> ArrayData:
    data = load_data(DIGITS, "test")
    if threshold is not None:
        data = binarize(data, threshold)
    labels = data.labels.tolist()
    firsts = [labels.index(label) for label in sorted(set(labels))]
    return ArrayData(data.name, data.inputs(firsts), data.labels[firsts], data.levels, data.class_names)
