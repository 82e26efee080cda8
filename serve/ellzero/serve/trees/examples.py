"""Example inputs of a tree or forest: those of an ``.npz`` beside its file."""

from pathlib import Path

from ellzero.core.schemas import Example
from ellzero.serve.platform.example_files import MAX_EXAMPLES, find_fault
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.trees.certificates import ServedTrees
from ellzero.trees.data import load_binary_data
from ellzero.trees.errors import UnreadableFile


def load_tree_examples(model: ServedTrees, path: Path) -> list[Example]:
    """Return the inputs of a file with arrays ``x``, of 0 and 1, and ``y``, labels as in training; 404 without one."""
    name = model.info.name
    if not path.is_file():
        raise HttpProblem(404, f"there are no examples for {name}: the service has no {path.name} beside the model")
    examples = find_fault(path) or _read_examples(model, path)
    if isinstance(examples, str):
        raise HttpProblem(404, f"there are no examples for {name}: {path.name} {examples}")
    return examples


def _read_examples(model: ServedTrees, path: Path) -> list[Example] | str:
    """Return the examples, or what is wrong with them."""
    try:
        data = load_binary_data(str(path))
    except UnreadableFile as error:
        return error.reason
    if data.features.shape[1] != model.info.shape[0]:
        return f"has inputs of {data.features.shape[1]} features, and the model takes {model.info.shape[0]}"
    if len(data.labels) > MAX_EXAMPLES:
        return f"has {len(data.labels)} inputs, and must have 1 to {MAX_EXAMPLES}"
    classes = model.estimator.classes_.tolist()
    labels = data.labels.tolist()
    if (unknown := next((label for label in labels if label not in classes), None)) is not None:
        return f"has the label {unknown!r}, which is no class of the model"
    rows = data.features.tolist()
    return [Example(index, classes.index(label), x) for index, (label, x) in enumerate(zip(labels, rows, strict=True))]
