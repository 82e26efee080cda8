"""The smoothed trees and forests of a service: the ``.json`` files in its folder of models."""

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.core.schemas import ModelInfo, UnusableModel
from ellzero.serve.platform.example_files import EXAMPLES_SUFFIX
from ellzero.serve.platform.field_types import MODEL_NAME
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.settings import ServeSettings, can_certify_trees

if TYPE_CHECKING:
    from ellzero.serve.trees.certificates import ServedTrees

_LOG = logging.getLogger(__name__)
_SUFFIX, _NETWORK_SUFFIX = ".json", ".safetensors"
_NAME = re.compile(MODEL_NAME, re.ASCII)


class TreeRegistry:
    """The trees and forests of the settings' folder, all in memory: they are small. Needs no torch."""

    def __init__(self, settings: ServeSettings) -> None:
        self._folder = None if settings.models is None else Path(settings.models)
        self._most_seconds = settings.max_seconds
        self._served: dict[str, ServedTrees] = {}
        self._unusable: dict[str, str] = {}

    def load(self) -> None:
        """Read all files, again if they were read before. Requests in progress continue with what they have."""
        if self._folder is None:
            return
        if not self._folder.is_dir():
            raise InvalidInput("models", "an existing folder", str(self._folder))
        served, unusable = {}, {}
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            name = path.stem
            if not _NAME.fullmatch(name) or not path.is_file():  # as for other models
                continue
            if path.with_suffix(_NETWORK_SUFFIX).is_file():  # by its name, requests reach that model
                unusable[path.name] = f"has the name of {name}{_NETWORK_SUFFIX} beside it"
            elif isinstance(model := self._read(path), str):
                unusable[name] = model
            else:
                served[name] = model
        for name, reason in unusable.items():
            _LOG.warning("model %s cannot be used: it %s", name, reason)
        self._served, self._unusable = served, unusable

    def names(self) -> list[str]:
        """Return the names of all usable trees and forests."""
        return list(self._served)

    def infos(self) -> list[ModelInfo]:
        """Return the descriptions of all usable trees and forests."""
        return [model.info for model in self._served.values()]

    def unusable(self) -> list[UnusableModel]:
        """Return the files that cannot be used, with the reasons."""
        return [UnusableModel(name, reason) for name, reason in self._unusable.items()]

    def find(self, name: str) -> "ServedTrees | None":
        """Return the tree or forest of this name, None if there is none; 422 if its file cannot be used."""
        if name in self._unusable:
            detail = f"the model {name} cannot be used: it {self._unusable[name]}"
            raise HttpProblem(422, detail, "model-unusable", field="model")
        return self._served.get(name)

    def examples_path(self, name: str) -> Path:
        """Return where the examples of a model are, if there are any: beside its file."""
        return Path(self._folder or ".") / f"{name}{EXAMPLES_SUFFIX}"

    def _read(self, path: Path) -> "ServedTrees | str":
        """Return the model in a file, or the reason why it cannot be used."""
        if not can_certify_trees():
            return str(MissingExtra("is a tree or forest, which", "trees", "sklearn"))
        from ellzero.serve.trees.certificates import ServedTrees
        from ellzero.trees.errors import UnreadableFile
        from ellzero.trees.model_file import load_trees

        try:
            saved = load_trees(path)
        except UnreadableFile as error:
            return error.reason
        return ServedTrees(path.stem, saved, self._most_seconds)
