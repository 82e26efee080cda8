"""Making noises from their descriptions, as files and requests state them."""

from collections.abc import Mapping
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.continuous import GaussianNoise, UniformNoise
from ellzero.smoothing.noise.descriptions import FAMILIES
from ellzero.smoothing.noise.discrete import DiscreteNoise, Unit


def make_noise(description: Mapping[str, Any]) -> NoiseFamily:
    """The noise that has this description: the inverse of ``NoiseFamily.description``."""
    family, k = description.get("family"), int(description["levels"]) - 1
    if family == "gaussian":
        return GaussianNoise(description["sigma"], k=k)
    if family == "uniform":
        return UniformNoise(description["gamma"], k=k)
    if family != "discrete":
        raise InvalidInput("noise", " or ".join(FAMILIES), family)
    if description.get("unit") not in list(Unit):
        raise InvalidInput("unit", " or ".join(Unit), description.get("unit"))
    unit = Unit(description["unit"])
    channels = int(description["channels"]) if unit is Unit.PIXEL else None
    return DiscreteNoise(k, description["alpha"], unit=unit, channels=channels)
