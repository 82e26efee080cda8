"""Noises on spaces so small that all their inputs can be looked at, and what leads from one input to another."""

from itertools import product

import numpy as np
from oracles import noises

from ellzero.certificates import Deletion, InvalidInput, Sparse, SparseLevels
from ellzero.smoothing import (
    AblationNoise,
    DeletionNoise,
    DiscreteNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
)
from ellzero.smoothing.noise.composed import BaseNoise

Point = tuple[int, ...]

NOISES: list[tuple[BaseNoise, int]] = [
    (DiscreteNoise(2, "4/5"), 3),
    (SparseNoise("0.01", "0.6"), 4),
    (SparseNoise("0.4", "0.7"), 4),
    (SparseLevelsNoise(2, "0.05", "0.4"), 3),
    (SparseLevelsNoise(2, "1/3", "1/2"), 3),
    (MaskNoise(1, "0.8"), 4),
    (AblationNoise(1, 4, 1), 4),
    (DeletionNoise(1, "0.8", 4), 4),
    (DeletionNoise(1, "0.95", 4), 4),
    (HierarchicalNoise(DiscreteNoise(1, "0.6"), "0.9"), 3),
    (HierarchicalNoise(SparseNoise("0.2", "0.5"), "0.95"), 3),
    (TotalNoise(SparseNoise("0.01", "0.6")), 4),
    (GroupedNoise([(DiscreteNoise(1, "0.7"), 2), (DiscreteNoise(2, "0.5"), 2)]), 4),
    (JointNoise(edges=(SparseNoise("0.1", "0.6"), 2), words=(MaskNoise(1, "0.9"), 2)), 4),
    (JointNoise(pixel=(DiscreteNoise(1, "0.7"), 1), text=(DeletionNoise(1, "0.9", 3), 3)), 4),
]


def list_inputs(noise: BaseNoise, d: int) -> list[Point]:
    """All inputs that the noise accepts."""
    points = []
    for point in product(range(noise.levels), repeat=d):
        try:
            noise.read_batch(np.array([point]))
        except InvalidInput:
            continue
        points.append(point)
    return points


def changes(noise: BaseNoise, x: Point, other: Point) -> tuple[int, ...]:
    """How many changes of each kind lead from one input to another, in the order of the family's axes."""
    family = noise.noise
    pairs = list(zip(x, other, strict=True))
    if isinstance(noise, JointNoise):
        counts: list[int] = []
        start = 0
        for _, member, columns in noise._parts:
            counts += changes(member, x[start : start + columns], other[start : start + columns])
            start += columns
        return tuple(counts)
    if isinstance(noise, HierarchicalNoise):
        return changes(noise._base, x, other)
    if isinstance(noise, TotalNoise):
        return (sum(changes(noise._base, x, other)),)
    if isinstance(family, Deletion):
        first, second = ([symbol for symbol in each if symbol < noise.levels - 1] for each in (x, other))
        return (noises.edit_distance(first, second),)
    if isinstance(family, Sparse | SparseLevels):
        kinds = [sum(not a and bool(b) for a, b in pairs), sum(bool(a) and not b for a, b in pairs)]
        changed = [sum(a != b and a > 0 and b > 0 for a, b in pairs)]
        return tuple(kinds if isinstance(family, Sparse) else kinds + changed)
    return (sum(a != b for a, b in pairs),)
