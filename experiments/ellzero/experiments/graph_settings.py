"""What the experiment on graphs trains, draws and certifies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ellzero.certificates import Sparse
from ellzero.certificates.families.base import Budget, Counts
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.experiments.graph_network import GraphRecipe
from ellzero.smoothing.graphs import GraphNoise

_FEATURES, _EDGES = Sparse("0.01", "0.6"), Sparse("0.001", "0.6")
NOISES: Final[Mapping[str, GraphNoise]] = {
    "features": GraphNoise(features=_FEATURES),
    "edges": GraphNoise(edges=_EDGES),
    "both": GraphNoise(_FEATURES, _EDGES),
}
"""The noises by name, each with a network of its own."""

LIMITS: Final[Mapping[str, Budget]] = {
    "features": {"add": 3, "delete": 12},
    "edges": {"add": 3, "delete": 12},
    "both": {"edges": {"add": 2, "delete": 4}, "features": {"add": 2, "delete": 6}},
}
"""The budgets that are looked at under each noise."""

COLLECTIVE_BUDGETS: Final[tuple[Counts, ...]] = (
    (0, 5),
    (0, 10),
    (0, 20),
    (0, 50),
    (0, 100),
    (1, 0),
    (2, 0),
    (5, 0),
    (10, 0),
    (20, 0),
    (2, 10),
    (10, 50),
)
"""Features added and deleted in the whole graph by one adversary."""


@dataclass(frozen=True)
class GraphSettings:
    """How networks are trained and certified; all of it decides the results."""

    noises: tuple[str, ...] = tuple(NOISES)
    recipe: GraphRecipe = field(default_factory=GraphRecipe)
    per_class: int = 50
    n0: int = 200
    n: int = 10_000
    failure: str = DEFAULT_FAILURE
    seed: int = 0

    def describe(self) -> dict[str, Any]:
        described = {name: getattr(self, name) for name in ("per_class", "n0", "n", "failure", "seed")}
        noises = {name: str(NOISES[name].family) for name in self.noises}
        return {**described, "recipe": self.recipe.describe(), "noises": noises}


QUICK: Final = GraphSettings(recipe=GraphRecipe(epochs=60), per_class=15, n0=50, n=400)
