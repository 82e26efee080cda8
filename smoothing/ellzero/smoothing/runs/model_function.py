"""Models of any kind for runs over data sets: a function makes them, and there is no file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.models.architectures import call_factory, find_feed
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.voters.kinds import AnyModel


@dataclass(frozen=True)
class CalledModel:
    """A model in memory: a network, a classifier, a function or a `RemoteModel`, with its card."""

    network: AnyModel
    card: ModelCard


@dataclass(frozen=True)
class ModelFunction:
    """The function that makes a model, ``module:function``, called as factories of networks are.

    ``name`` is what its user calls the model, a version included. Nothing else identifies it: no digest covers what a
    function does, so that results of two models under one name would be taken for results of one.
    """

    name: str
    card: ModelCard

    @classmethod
    def of(
        cls, target: str, name: str | None, data: DataSet, noise: Mapping[str, Any], allowed: Sequence[str]
    ) -> "ModelFunction":
        """The function ``target`` for these inputs under this noise."""
        feed = find_feed(target, allowed)
        if not name:
            raise InvalidInput("model-id", "given for a model that a function makes: its name and version", name)
        classes = len(data.class_names)
        return cls(name, ModelCard(target, data.shape, classes, data.levels, feed.value, noise=dict(noise)))

    def call(self, allowed: Sequence[str]) -> CalledModel:
        """Make the model, in this process."""
        card = self.card
        model = call_factory(card.architecture, card.shape, card.num_classes, card.sample_levels, {}, allowed)
        return CalledModel(model, card)
