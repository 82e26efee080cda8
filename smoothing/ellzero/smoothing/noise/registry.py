"""The families of noise: made from descriptions, as files and requests state them, and described in words.

Loads numpy only to make a noise.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from ellzero.certificates import (
    Discrete,
    Family,
    Grouped,
    Hierarchical,
    RegionList,
    Sparse,
    SparseLevels,
    Total,
)
from ellzero.core.errors import InvalidInput
from ellzero.core.text import count_noun

if TYPE_CHECKING:
    from ellzero.smoothing.noise.base import NoiseFamily
    from ellzero.smoothing.noise.composed import BaseNoise

FAMILIES = (
    "discrete",
    "gaussian",
    "rounded-gaussian",
    "uniform",
    "sparse",
    "sparse-levels",
    "mask",
    "ablation",
    "deletion",
    "hierarchical",
    "joint",
    "grouped",
    "total",
)
"""The families that descriptions name."""

_NEEDED = {
    "mask": "MaskNoise(k, m), which knows the levels of inputs",
    "ablation": "AblationNoise(k, d, keep), which knows the levels of inputs",
    "deletion": "DeletionNoise(k, m, length), which knows the symbols and the length of inputs",
    "joint": "JointNoise(name=(noise, columns), …), which knows the columns of each part",
}


def make_noise(description: Mapping[str, Any]) -> "NoiseFamily":
    """Make the noise that has this description: the inverse of ``NoiseFamily.description``."""
    from ellzero.smoothing.noise.composed import GroupedNoise, HierarchicalNoise, JointNoise, TotalNoise
    from ellzero.smoothing.noise.continuous import GaussianNoise, UniformNoise
    from ellzero.smoothing.noise.deletion import DeletionNoise
    from ellzero.smoothing.noise.discrete import DiscreteNoise, Unit
    from ellzero.smoothing.noise.mask import AblationNoise, MaskNoise
    from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
    from ellzero.smoothing.noise.sparse import SparseLevelsNoise, SparseNoise

    family, k = description.get("family"), int(description["levels"]) - 1
    if family in ("rounded-gaussian", "sparse") and k != 1:
        raise InvalidInput("noise", "another one for inputs that are not bits", family)
    match family:
        case "gaussian":
            return GaussianNoise(description["sigma"], k=k)
        case "uniform":
            return UniformNoise(description["gamma"], k=k)
        case "rounded-gaussian":
            return RoundedGaussianNoise(description["alpha"])
        case "sparse":
            return SparseNoise(description["p_add"], description["p_del"])
        case "sparse-levels":
            return SparseLevelsNoise(k, description["p_add"], description["p_del"])
        case "mask":
            return MaskNoise(k, description["m"], mask_token=description.get("mask_token"))
        case "ablation":
            return AblationNoise(k, description["d"], description["keep"], mask_token=description.get("mask_token"))
        case "deletion":
            return DeletionNoise(k - 1, description["m"], description["length"])  # the last level is padding
        case "hierarchical":
            return HierarchicalNoise(_make_base(description["base"]), description["s"])
        case "total":
            return TotalNoise(_make_base(description["base"]))
        case "joint":
            return JointNoise(**{label: _make_part(each) for label, each in description["members"].items()})
        case "grouped":
            return GroupedNoise([_make_part(each) for each in description["members"]])
        case "discrete":
            if description.get("unit") not in list(Unit):
                raise InvalidInput("unit", " or ".join(Unit), description.get("unit"))
            unit = Unit(description["unit"])
            channels = int(description["channels"]) if unit is Unit.PIXEL else None
            return DiscreteNoise(k, description["alpha"], unit=unit, channels=channels)
    raise InvalidInput("noise", f"one of {', '.join(FAMILIES)}", family)


def read_noise(noise: object) -> "NoiseFamily":
    """A noise that can be drawn; a family of `ellzero.certificates` as that noise, if it says all that it takes."""
    from ellzero.smoothing.noise.composed import GroupedNoise, HierarchicalNoise, TotalNoise
    from ellzero.smoothing.noise.discrete import DiscreteNoise
    from ellzero.smoothing.noise.sparse import SparseLevelsNoise, SparseNoise

    match noise:
        case Discrete():
            return DiscreteNoise.of(noise)
        case Sparse():
            return SparseNoise(noise.p_add, noise.p_del)
        case SparseLevels():
            return SparseLevelsNoise(noise.k, noise.p_add, noise.p_del)
        case Hierarchical():
            return HierarchicalNoise(noise.base, noise.s)
        case Total():
            return TotalNoise(noise.base)
        case Grouped():
            return GroupedNoise(noise.members)
        case RegionList():
            raise InvalidInput("noise", "one that draws samples; likelihood regions do not say how to", noise)
        case Family():
            needed = _NEEDED.get(noise.name, "a noise with a sampler of its own")
            raise InvalidInput("noise", f"one that draws samples: {needed}", noise)
    return cast("NoiseFamily", noise)


def find_family(noise: "NoiseFamily") -> Family:
    """The family that a noise belongs to: its certificates say what each budget of changes does."""
    family, name = getattr(noise, "noise", None), noise.description()["family"]
    if not isinstance(family, Family) or name != family.name:
        raise InvalidInput("noise", "of a family, for budgets", name)
    return family


def describe_noise(description: Mapping[str, Any]) -> str:
    """Describe a noise in words."""
    match description["family"]:
        case "discrete":
            return f"K = {description['k']}, α = {description['alpha']} per {description['unit']}"
        case "rounded-gaussian":
            return f"Gaussian noise rounded to bits, α = {description['alpha']}"
        case "grey":  # of experiments, which compare it; `make_noise` does not make it
            return f"the noise for bits on grey levels 0..{int(description['levels']) - 1}, α = {description['alpha']}"
        case "gaussian":
            return f"gaussian noise, σ = {_shorten(description['sigma'])}"
        case "uniform":
            return f"uniform noise, γ = {_shorten(description['gamma'])}"
        case "sparse":
            return f"sparse bits, {_describe_sparse(description)}"
        case "sparse-levels":
            return f"sparse levels 0..{description['k']}, {_describe_sparse(description)}"
        case "mask":
            return f"hidden with probability {_shorten(description['m'])}"
        case "ablation":
            return f"{description['keep']} of {description['d']} shown"
        case "deletion":
            return f"symbols deleted with probability {_shorten(description['m'])}"
        case "hierarchical":
            return f"struck with probability {_shorten(description['s'])} by: {describe_noise(description['base'])}"
        case "total":
            return describe_noise(description["base"])
        case "joint":
            return "; ".join(f"{label}: {describe_noise(each)}" for label, each in description["members"].items())
        case "grouped":
            members = description["members"]
            return "; ".join(f"{count_noun(each['columns'], 'column')}: {describe_noise(each)}" for each in members)
    raise InvalidInput("noise", f"one of {', '.join(FAMILIES)}", description["family"])


def _describe_sparse(description: Mapping[str, Any]) -> str:
    return f"p_add = {_shorten(description['p_add'])}, p_del = {_shorten(description['p_del'])}"


def _make_base(description: Mapping[str, Any]) -> "BaseNoise":
    """The noise of this description, as others are made of it; they check that it is of a family."""
    return cast("BaseNoise", make_noise(description))


def _make_part(description: Mapping[str, Any]) -> "tuple[BaseNoise, int]":
    return _make_base(description), description["columns"]


def _shorten(fraction: str) -> str:
    """A fraction as a decimal, if it is one of a double's digits."""
    exact = Fraction(fraction)
    decimal = repr(float(exact))
    return decimal if Fraction(decimal) == exact else fraction
