"""The families of noise: made from descriptions, as files and requests state them, and described in words.

Loads torch only to make a noise.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from ellzero.certificates import Discrete, Family, Sparse
from ellzero.core.errors import InvalidInput

if TYPE_CHECKING:
    from ellzero.smoothing.noise.base import NoiseFamily

FAMILIES = ("discrete", "gaussian", "rounded-gaussian", "uniform")
"""Those that commands and requests name; models and Python also have ``sparse`` and ``mask``."""


def make_noise(description: Mapping[str, Any]) -> "NoiseFamily":
    """Make the noise that has this description: the inverse of ``NoiseFamily.description``."""
    from ellzero.smoothing.noise.continuous import GaussianNoise, UniformNoise
    from ellzero.smoothing.noise.discrete import DiscreteNoise, Unit
    from ellzero.smoothing.noise.mask import MaskNoise
    from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
    from ellzero.smoothing.noise.sparse import SparseNoise

    family, k = description.get("family"), int(description["levels"]) - 1
    if family == "gaussian":
        return GaussianNoise(description["sigma"], k=k)
    if family == "uniform":
        return UniformNoise(description["gamma"], k=k)
    if family == "rounded-gaussian":
        if k != 1:
            raise InvalidInput("noise", "another one for inputs that are not bits", family)
        return RoundedGaussianNoise(description["alpha"])
    if family == "sparse":
        if k != 1:
            raise InvalidInput("noise", "another one for inputs that are not bits", family)
        return SparseNoise(description["p_add"], description["p_del"])
    if family == "mask":
        return MaskNoise(k, description["m"])
    if family != "discrete":
        raise InvalidInput("noise", " or ".join(FAMILIES), family)
    if description.get("unit") not in list(Unit):
        raise InvalidInput("unit", " or ".join(Unit), description.get("unit"))
    unit = Unit(description["unit"])
    channels = int(description["channels"]) if unit is Unit.PIXEL else None
    return DiscreteNoise(k, description["alpha"], unit=unit, channels=channels)


def read_noise(noise: object) -> "NoiseFamily":
    """A noise that can be drawn; a family of `ellzero.certificates` as that noise, if it says all that it takes."""
    from ellzero.smoothing.noise.discrete import DiscreteNoise
    from ellzero.smoothing.noise.sparse import SparseNoise

    if isinstance(noise, Discrete):
        return DiscreteNoise.of(noise)
    if isinstance(noise, Sparse):
        return SparseNoise(noise.p_add, noise.p_del)
    if isinstance(noise, Family):
        raise InvalidInput("noise", "one that draws samples, such as MaskNoise(k, m)", noise)
    return cast("NoiseFamily", noise)


def describe_noise(description: Mapping[str, Any]) -> str:
    """Describe a noise in words."""
    if description["family"] == "rounded-gaussian":
        return f"Gaussian noise rounded to bits, α = {description['alpha']}"
    if description["family"] == "grey":  # of experiments, which compare it; `make_noise` does not make it
        return f"the noise for bits on grey levels 0..{int(description['levels']) - 1}, α = {description['alpha']}"
    if description["family"] == "sparse":
        return f"sparse bits, p_add = {_shorten(description['p_add'])}, p_del = {_shorten(description['p_del'])}"
    if description["family"] == "mask":
        return f"hidden with probability {_shorten(description['m'])}"
    if description["family"] != "discrete":
        name = "sigma" if description["family"] == "gaussian" else "gamma"
        amount = _shorten(description[name])
        return f"{description['family']} noise, {'σ' if name == 'sigma' else 'γ'} = {amount}"
    return f"K = {description['k']}, α = {description['alpha']} per {description['unit']}"


def _shorten(fraction: str) -> str:
    """A fraction as a decimal, if it is one of a double's digits."""
    exact = Fraction(fraction)
    decimal = repr(float(exact))
    return decimal if Fraction(decimal) == exact else fraction
