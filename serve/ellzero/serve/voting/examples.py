"""Example inputs to try a model on, which need its card but not its weights."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.serve.platform.example_files import MAX_EXAMPLES, find_fault
from ellzero.serve.platform.problems import HttpProblem
from ellzero.smoothing.data.datasets import ArrayData, binarize
from ellzero.smoothing.data.files import read_npz
from ellzero.smoothing.data.loading import DIGITS, load_data
from ellzero.smoothing.errors import BadData
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.model_io import read_levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key


def load_examples(name: str, card: ModelCard, path: Path) -> ArrayData:
    """Return inputs to try a model on: those of the file at ``path``, else digits if it was trained on them.

    A file has at most 32 inputs and 1 MiB. Otherwise, and if the inputs do not fit the model, there are no examples,
    and a 404 says why.
    """
    try:
        if path.is_file():
            return _read_examples(card, path)
    except BadData as error:
        raise HttpProblem(404, f"there are no examples for {name}: {path.name} {error.reason}") from None
    if card.data != DIGITS:
        raise HttpProblem(404, f"there are no examples for {name}: the service has no {path.name} beside the model")
    examples = _one_of_each(card.binarize)
    if examples.shape != card.shape or examples.levels != card.levels:
        raise HttpProblem(404, f"there are no examples for {name}: the digits do not fit it")
    return examples


def add_noise(examples: ArrayData, example: int, noise: NoiseFamily, seed: int) -> list[Any]:
    """Return an example with noise, drawn as the first sample of a stage of its own."""
    if example >= len(examples.labels):
        raise InvalidInput("example", f"an integer from 0 to {len(examples.labels) - 1}", example)
    x = read_levels(examples.inputs([example])[0], noise.levels)
    source = open_source(stream_key(seed, noise.tag, x), Stage.SHOW, 0)
    noisy: list[Any] = noise.sample(x, source, 1)[0].tolist()
    return noisy


def _read_examples(card: ModelCard, path: Path) -> ArrayData:
    """Read an ``.npz`` as `load_data` does."""
    if (fault := find_fault(path)) is not None:
        raise BadData(str(path), fault)
    examples = read_npz(str(path), "test", card.levels - 1)
    if examples.shape != card.shape or examples.levels != card.levels:
        needs = f"the model takes {list(card.shape)} with {card.levels}"
        raise BadData(
            str(path), f"has inputs of shape {list(examples.shape)} with {examples.levels} levels, and {needs}"
        )
    if not 1 <= len(examples.labels) <= MAX_EXAMPLES:
        raise BadData(str(path), f"has {len(examples.labels)} inputs, and must have 1 to {MAX_EXAMPLES}")
    if int(examples.labels.max()) >= card.num_classes:
        raise BadData(str(path), f"has the class {int(examples.labels.max())}, outside of 0..{card.num_classes - 1}")
    return examples


@lru_cache(16)
def _one_of_each(threshold: int | None) -> ArrayData:
    data = load_data(DIGITS, "test")
    if threshold is not None:
        data = binarize(data, threshold)
    labels = data.labels.tolist()
    firsts = [labels.index(label) for label in sorted(set(labels))]
    return ArrayData(data.name, data.inputs(firsts), data.labels[firsts], data.levels, data.class_names)
