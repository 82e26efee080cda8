"""Noises made of noises: of several kinds of data at once, of columns of several kinds, and shown where they struck.

Samples of parts are drawn one after the other from the same stream.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Family, Grouped, Hierarchical, Joint, Total
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.noise.discrete import DiscreteNoise, Unit, sample_coins
from ellzero.smoothing.noise.family_noise import FamilyNoise
from ellzero.smoothing.noise.random_streams import Array, RandomSource, Shape, level_kind
from ellzero.smoothing.noise.registry import read_noise

BaseNoise: TypeAlias = DiscreteNoise | FamilyNoise
"""Noises that others can be made of: their certificates are those of a family."""
BaseNoiseLike: TypeAlias = BaseNoise | Family
"""The same, or a family that says all that it takes to draw it."""

_MOST_LEVELS = 2**31 - 1


class WrappedNoise(FamilyNoise):
    """Noise made of another one, whose inputs are its inputs."""

    def __init__(self, base: BaseNoise, family: Family, extra_levels: int) -> None:
        self._base = base
        super().__init__(family, base.levels, extra_levels)

    def description(self) -> Mapping[str, Any]:
        return {**super().description(), "base": dict(self._base.description())}

    def check_shape(self, shape: Shape) -> None:
        self._base.check_shape(shape)

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        return self._base.read_batch(batch)

    @property
    def strikes_independently(self) -> bool:
        return self._base.strikes_independently

    def unit_shape(self, shape: Shape) -> Shape:
        return self._base.unit_shape(shape)

    def dimension(self, shape: Shape) -> int:
        return self._base.dimension(shape)


class HierarchicalNoise(WrappedNoise):
    """Each number of an input is struck with probability ``s`` by the noise ``base``, and otherwise left as it is; the
    model sees which ones were struck.

    A number that is left shows as its level v, from 0 to K; one that is struck and becomes v shows as K + 1 + v. So a
    model has what was struck, ``struck = samples > K``, and the noisy input, ``samples - (K + 1) * struck``. It must
    take levels (``feed="levels"``), and know K + 1 more than under the base.
    """

    def __init__(self, base: BaseNoiseLike, s: RationalLike) -> None:
        noise = _read_base(base, "base")
        self._hierarchical = Hierarchical(noise.noise, s)
        if noise.levels + noise.sample_levels > _MOST_LEVELS:
            raise InvalidInput("base", f"a noise with at most {_MOST_LEVELS // 2:,} levels", noise.levels)
        super().__init__(noise, self._hierarchical, extra_levels=noise.sample_levels)

    @property
    def tag(self) -> str:
        return f"hierarchical s={self._hierarchical.s} ({self._base.tag})"

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        kind = level_kind(self.sample_levels)
        own = source.cast(source.array(x), kind)
        noisy = source.cast(self._base.sample_batch(source.expand(x, (count, *shape)), source), kind)
        noisy += self.levels
        struck = sample_coins(source, self._hierarchical.s, count * prod(shape)).reshape(count, *shape)
        return own + source.cast(struck, kind) * (noisy - own)


class TotalNoise(WrappedNoise):
    """Samples as those of ``base``; changes of all kinds are one kind, so that a radius is an ℓ0 radius."""

    def __init__(self, base: BaseNoiseLike) -> None:
        noise = _read_base(base, "base")
        super().__init__(noise, Total(noise.noise), noise.sample_levels - noise.levels)

    @property
    def tag(self) -> str:
        return self._base.tag

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        return self._base.sample_batch(source.expand(x, (count, *shape)), source)


class PartitionedNoise(FamilyNoise):
    """Noise on vectors whose columns are parts, one after the other, each with a noise of its own.

    ``levels`` are those of the part that has most; each part keeps to its own, and so do its hidden numbers.
    """

    def __init__(self, family: Family, parts: Sequence[tuple[str, BaseNoise, int]]) -> None:
        self._parts = parts
        self._columns = sum(columns for _, _, columns in parts)
        levels = max(noise.levels for _, noise, _ in parts)
        super().__init__(family, levels, max(noise.sample_levels for _, noise, _ in parts) - levels)
        for label, noise, columns in parts:
            try:
                noise.check_shape((columns,))
            except InvalidInput as error:
                raise InvalidInput(label, error.allowed, f"{columns} columns") from None
            if (length := noise.dimension((columns,))) != columns:
                raise InvalidInput(label, f"{length} columns, the length that its inputs are padded to", columns)

    @property
    def tag(self) -> str:
        return f"{self.noise.name} {', '.join(f'{columns} of ({noise.tag})' for _, noise, columns in self._parts)}"

    def check_shape(self, shape: Shape) -> None:
        if tuple(shape) != (self._columns,):
            raise InvalidInput("x", f"a vector of {self._columns} columns, which the noise is for", tuple(shape))

    @property
    def strikes_independently(self) -> bool:
        return all(noise.strikes_independently for _, noise, _ in self._parts)

    def read_batch(self, batch: NDArray[Any]) -> NDArray[Any]:
        self.check_shape(batch.shape[1:])
        return np.concatenate([self._read_part(*part) for part in self._split(batch)], axis=1)

    def _read_part(self, label: str, noise: BaseNoise, batch: NDArray[Any]) -> NDArray[Any]:
        high = int(batch.max())
        if high >= noise.levels:
            raise InvalidInput(f"x ({label})", f"levels from 0 to {noise.levels - 1}", high)
        return noise.read_batch(batch)

    def _split(self, batch: Array) -> Iterable[tuple[str, BaseNoise, Array]]:
        """The columns of each part."""
        start = 0
        for label, noise, columns in self._parts:
            yield label, noise, batch[:, start : start + columns]
            start += columns

    def _sample_noisy(self, x: Array, shape: Shape, source: RandomSource, count: int) -> Array:
        kind = level_kind(self.sample_levels)
        samples = [
            source.cast(noise.sample_batch(source.cast(own, level_kind(noise.levels)), source), kind)
            for _, noise, own in self._split(source.expand(x, (count, *shape)))
        ]
        return source.join(samples)


class JointNoise(PartitionedNoise):
    """Several kinds of data at once: ``JointNoise(edges=(SparseNoise("0.01", "0.6"), 100), words=(…, 20))``.

    An input is one vector: the columns of the first part, then those of the second, and so on. Each part has budgets of
    its own; the radius is of changes of any kinds in any parts.
    """

    def __init__(self, /, **parts: tuple[BaseNoiseLike, int]) -> None:
        own = [(label, *_read_part(pair, label)) for label, pair in parts.items()]
        super().__init__(Joint(**{label: noise.noise for label, noise, _ in own}), own)

    def description(self) -> Mapping[str, Any]:
        members = {label: {**noise.description(), "columns": columns} for label, noise, columns in self._parts}
        return {"family": self.noise.name, "members": members, "levels": self.levels}


class GroupedNoise(PartitionedNoise):
    """Columns of several kinds under **one** budget: ``GroupedNoise([(DiscreteNoise(9, "0.8"), 4), …])``.

    For tables. An input is one vector: the columns of the first kind, then those of the second, and so on; a kind may
    come again.
    """

    def __init__(self, members: Iterable[tuple[BaseNoiseLike, int]]) -> None:
        label = "members[{}]".format
        own = [(label(place), *_read_part(pair, label(place))) for place, pair in enumerate(members)]
        super().__init__(Grouped([(noise.noise, columns) for _, noise, columns in own]), own)

    def description(self) -> Mapping[str, Any]:
        members = [{**noise.description(), "columns": columns} for _, noise, columns in self._parts]
        return {"family": self.noise.name, "members": members, "levels": self.levels}


def _read_part(pair: object, field: str) -> tuple[BaseNoise, int]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidInput(field, "a pair of a noise and its number of columns", pair)
    return _read_base(pair[0], field), read_integer(pair[1], field, 1)


def _read_base(base: object, field: str) -> BaseNoise:
    noise = read_noise(base)
    if type(noise) is DiscreteNoise and noise.unit is Unit.COORDINATE:
        return noise
    if isinstance(noise, FamilyNoise):
        return noise
    raise InvalidInput(field, "a noise of a family on single numbers, such as DiscreteNoise(9, '0.8')", base)
