"""A noise of every kind, with an input for it."""

import hashlib
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Sparse
from ellzero.smoothing import (
    AblationNoise,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
    UniformNoise,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise

EVERY_NOISE: dict[str, tuple[NoiseFamily, tuple[int, ...]]] = {
    "discrete": (DiscreteNoise(2, "0.6"), (6,)),
    "bytes": (DiscreteNoise(255, "0.2"), (3, 4, 4)),
    "others only": (DiscreteNoise(16, "0.01"), (9,)),
    "many levels": (DiscreteNoise(65_535, "1/3"), (9,)),
    "pixels": (DiscreteNoise(255, "0.5", unit="pixel", channels=3), (3, 4, 4)),
    "pixels, others only": (DiscreteNoise(1, "1/10", unit="pixel", channels=3), (3, 4)),
    "rounded gaussian": (RoundedGaussianNoise("0.8"), (6,)),
    "gaussian": (GaussianNoise("0.37", k=255), (3, 5, 5)),
    "gaussian of bits": (GaussianNoise("1/2", k=1), (7,)),
    "uniform": (UniformNoise("2.3", k=6), (11,)),
    "sparse": (SparseNoise("0.05", "0.6"), (12,)),
    "sparse levels": (SparseLevelsNoise(5, "0.1", "0.55"), (12,)),
    "sparse, many levels": (SparseLevelsNoise(300, "0.1", "0.5"), (9,)),
    "mask": (MaskNoise(2, "2/3"), (5,)),
    "mask of many": (MaskNoise(50_000, "0.4"), (20,)),
    "mask of all bytes": (MaskNoise(255, "0.4"), (20,)),
    "ablation": (AblationNoise(2, 10, 3), (2, 5)),
    "deletion": (DeletionNoise(20, "2/5", 12), (9,)),
    "deletion of many": (DeletionNoise(400, "0.1", 8), (8,)),
    "hierarchical": (HierarchicalNoise(DiscreteNoise(2, "0.6"), "0.3"), (6,)),
    "hierarchical mask": (HierarchicalNoise(MaskNoise(200, "0.6"), "2/3"), (6,)),
    "total": (TotalNoise(SparseNoise("0.05", "0.6")), (6,)),
    "grouped": (
        GroupedNoise([(DiscreteNoise(1, "0.8"), 2), (DiscreteNoise(9, "0.6"), 3), (Discrete(1, "0.7"), 1)]),
        (6,),
    ),
    "joint": (JointNoise(edges=(Sparse("0.1", "0.6"), 4), words=(DeletionNoise(500, "0.5", 5), 5)), (9,)),
}
"""Noises, with the shape of an input for each."""


def make_input(noise: NoiseFamily, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Levels that look random. Parts of joint and grouped noise have two levels in common; padding is no symbol."""
    family = noise.description()["family"]
    levels = 2 if family in ("grouped", "joint") else noise.levels - (family == "deletion")
    digests = [hashlib.blake2b(str(place).encode(), digest_size=4).hexdigest() for place in range(prod(shape))]
    return np.array([int(digest, 16) % levels for digest in digests]).reshape(shape)


def count_by_sum(samples: NDArray[Any]) -> NDArray[Any]:
    """One of three classes for each sample, which depends on all of its numbers."""
    whole = (samples * np.float32(1_000)).round() if samples.dtype.kind == "f" else samples
    total: NDArray[Any] = whole.astype(np.int64).reshape(len(samples), -1).sum(1) % 3
    return total
