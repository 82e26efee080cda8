"""Where the inputs of a run come from, so that they can be loaded again: by a worker, or beside the results."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ellzero.core.text import hide_credentials
from ellzero.smoothing.data.datasets import DataSet, ReorderedData, binarize, hold_out
from ellzero.smoothing.data.loading import DIGITS, load_data
from ellzero.smoothing.errors import BadData

_PLACE = "source.json"
_TYPES = {
    "uri": str,
    "split": str,
    "k": int | None,
    "image_size": int,
    "binarize": int | None,
    "held_out": int | None,
    "shuffle": int | None,
}


@dataclass(frozen=True)
class DataSource:
    """Where inputs come from: what it takes to load them.

    ``held_out`` is the seed of a training, for the inputs that it did not train on; ``shuffle`` that of the order of
    the inputs, if it is not that of the files.
    """

    uri: str
    split: str
    k: int | None
    image_size: int
    binarize: int | None
    held_out: int | None = None
    shuffle: int | None = None

    def load(self) -> DataSet:
        """Load the inputs, and turn levels into bits if ``binarize`` says so; bits stay as they are."""
        data = load_data(self.uri, self.split, k=self.k, image_size=self.image_size)
        if self.binarize is not None and data.levels != 2:
            data = binarize(data, self.binarize)
        if self.held_out is not None:
            data = ReorderedData(data, hold_out(len(data.labels), self.held_out)[0], f"{data.name}, held out")
        return data if self.shuffle is None else ReorderedData.shuffle(data, self.shuffle)

    def describe(self) -> dict[str, Any]:
        """The source as JSON has it: a local path is absolute, and a URI has no credentials."""
        return asdict(replace(self, uri=self._find_location()))

    @classmethod
    def of(cls, description: object) -> "DataSource":
        """The source that `describe` described; what may be null may be missing. `BadData` names what is wrong."""
        if not isinstance(description, Mapping) or not set(description) <= set(_TYPES):
            raise BadData(_PLACE, f"is damaged: it may have {', '.join(_TYPES)}, and nothing else")
        values: dict[str, Any] = {field: description.get(field) for field in _TYPES}
        for field, value in values.items():
            if not isinstance(value, _TYPES[field]) or isinstance(value, bool):
                raise BadData(_PLACE, f"is damaged: {field} is {str(value)[:40]!r}")
        return cls(**values)

    def _find_location(self) -> str:
        if self.uri == DIGITS or "://" in self.uri:
            return hide_credentials(self.uri)
        return str(Path(self.uri).expanduser().absolute())
