"""The card of a model: what it is, what it takes, and how it was trained. Needs no torch."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Annotated, Any

from annotated_types import Ge, MinLen
from pydantic import ConfigDict, TypeAdapter, ValidationError

from ellzero.core.text import first_line
from ellzero.smoothing.errors import BadModelFile
from ellzero.smoothing.models.feed import Feed

_VERSION = 1


@dataclass(frozen=True)
class ModelCard:
    """What a model is, what it takes, and how it was trained.

    ``shape`` and ``levels`` are those of its inputs; ``noise`` describes the noise it was trained with; ``binarize`` is
    the level from which a number of the data counts as 1, if the data was turned into bits.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")

    architecture: str
    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)]
    num_classes: Annotated[int, Ge(2)]
    levels: Annotated[int, Ge(2)]
    feed: str = Feed.SCALED.value
    config: Mapping[str, Any] = field(default_factory=dict)
    noise: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""
    binarize: Annotated[int, Ge(1)] | None = None
    class_names: tuple[str, ...] = ()
    training: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sample_levels(self) -> int:
        """How many levels the network knows: those of noisy inputs, some of which inputs may not have."""
        if not self.noise:
            return self.levels
        from ellzero.smoothing.noise.registry import make_noise

        return make_noise(self.noise).sample_levels

    def to_json(self) -> str:
        return json.dumps({"version": _VERSION, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, place: str) -> "ModelCard":
        """The card in the metadata of a file, with every field checked. The message names the first wrong field."""
        try:
            fields = json.loads(text)
            version = fields.pop("version")
            if type(version) is not int or version < 1:
                raise ValueError(f"version: {version!r} is not a positive integer")
            if version > _VERSION:
                raise BadModelFile(place, "was written by a later version of ellzero")
            card: ModelCard = _adapter().validate_json(json.dumps(fields))
            Feed.of(card.feed)
            if card.noise:
                _check_noise(card)
        except BadModelFile:
            raise
        except ValidationError as error:
            wrong = error.errors(include_url=False)[0]
            where = ".".join(map(str, wrong["loc"])) or "card"
            raise BadModelFile(place, f"has a card that cannot be read: {where}: {wrong['msg']}") from error
        except KeyError as error:
            raise BadModelFile(place, f"has a card that cannot be read: {error.args[0]} is missing") from error
        except (TypeError, ValueError, AttributeError, RecursionError) as error:
            raise BadModelFile(place, f"has a card that cannot be read: {first_line(error)}") from error
        return card


@cache
def _adapter() -> TypeAdapter[ModelCard]:
    return TypeAdapter(ModelCard)


def _check_noise(card: ModelCard) -> None:
    from ellzero.smoothing.noise.registry import make_noise

    noise = make_noise(card.noise)
    noise.check_shape(card.shape)
    if noise.levels != card.levels:
        raise ValueError(f"noise: for {noise.levels} levels, but inputs have {card.levels}")
