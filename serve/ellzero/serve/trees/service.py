"""Exact answers of trees and forests over HTTP: computed in threads, without votes and without jobs."""

import time
from typing import TYPE_CHECKING, Any

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_shortest
from ellzero.core.schemas import CertifyAnswer, ExamplesAnswer, ModelsAnswer, PredictAnswer
from ellzero.serve.platform.field_types import Exact
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings
from ellzero.serve.trees.registry import TreeRegistry

if TYPE_CHECKING:
    from ellzero.serve.trees.certificates import ServedTrees

_NO_FAILURE = "0"
_NO_STOPPING = "never"


class TreeService:
    """Predictions and certificates of a service's trees and forests."""

    def __init__(self, settings: ServeSettings, pool: ThreadPool) -> None:
        self._registry, self._pool = TreeRegistry(settings), pool

    def load(self) -> None:
        """Load or reload the trees and forests."""
        self._registry.load()

    def find(self, name: str) -> "ServedTrees | None":
        """Return the tree or forest of this name, None if there is none; 422 if its file cannot be used."""
        return self._registry.find(name)

    def names(self) -> list[str]:
        """Return the names of all usable trees and forests."""
        return self._registry.names()

    def add_to(self, networks: ModelsAnswer) -> ModelsAnswer:
        """Return all models, trees and forests among the networks. A bundled network gives way to a file's name."""
        names = set(self.names())
        models = [*(info for info in networks.models if info.name not in names), *self._registry.infos()]
        unusable = [*(one for one in networks.unusable if one.name not in names), *self._registry.unusable()]
        return ModelsAnswer(
            models=sorted(models, key=lambda info: info.name), unusable=sorted(unusable, key=lambda one: one.name)
        )

    async def predict(self, model: "ServedTrees", alpha: Exact | None, x: Any) -> PredictAnswer:
        """Return the classes of inputs."""
        _check_alpha(model, alpha)
        started = time.monotonic()
        results = await self._pool.run(model.predict, x)
        return PredictAnswer(
            results=results,
            model=model.info.name,
            sha256=model.info.sha256,
            n=0,
            failure=_NO_FAILURE,
            seed=0,
            noise=model.info.noise,
            seconds=time.monotonic() - started,
        )

    async def certify(self, model: "ServedTrees", alpha: Exact | None, x: Any) -> CertifyAnswer:
        """Return the exact certificates of inputs."""
        _check_alpha(model, alpha)
        started = time.monotonic()
        results = await self._pool.run(model.certify, x)
        return CertifyAnswer(
            results=results,
            model=model.info.name,
            sha256=model.info.sha256,
            n0=0,
            n=0,
            failure=_NO_FAILURE,
            seed=0,
            stopping=_NO_STOPPING,
            runner_up=False,
            noise=model.info.noise,
            d=model.info.shape[0],
            seconds=time.monotonic() - started,
        )

    async def examples(self, model: "ServedTrees") -> ExamplesAnswer:
        """Return inputs to try a tree or forest on."""
        from ellzero.serve.trees.examples import load_tree_examples

        path = self._registry.examples_path(model.info.name)
        examples = await self._pool.run(load_tree_examples, model, path)
        return ExamplesAnswer(model=model.info.name, data=model.info.data, examples=examples)


def _check_alpha(model: "ServedTrees", alpha: Exact | None) -> None:
    """Refuse another noise than that of the file: its α belongs to the tree."""
    own = model.info.noise["alpha"]
    allowed = f"left out, or {own}, as the model has it"
    if alpha is not None and str(read_shortest(alpha, "alpha", allowed)) != own:
        raise InvalidInput("alpha", allowed, alpha)
