"""Streams and what noises draw from them: samples and votes are those of earlier releases, to the bit."""

import hashlib
from math import prod
from typing import Any

import numpy as np
import pytest
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
    SmoothedClassifier,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
    UniformNoise,
    add_noise,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, open_source, stream_key
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise

Recorded = tuple[NoiseFamily, tuple[int, ...], str, str, str, tuple[int, ...]]

RECORDED: dict[str, Recorded] = {
    "discrete": (
        DiscreteNoise(2, "0.6"),
        (6,),
        "a59f6585459a9e92",
        "8c680ba70eff85c3",
        "cea1cea29d7abc35",
        (191, 207, 202),
    ),
    "bytes": (
        DiscreteNoise(255, "0.2"),
        (3, 4, 4),
        "62df95ce7f9ee7c0",
        "6cd22e24d3a3791d",
        "bd17cdbea9c054c5",
        (195, 194, 211),
    ),
    "others only": (
        DiscreteNoise(16, "0.01"),
        (9,),
        "db88af5136081605",
        "b468a2aba8c477b8",
        "ca90ead50c7adf05",
        (214, 195, 191),
    ),
    "many levels": (
        DiscreteNoise(65_535, "1/3"),
        (9,),
        "7f3dae770a314268",
        "0750f81a0f45c560",
        "af9ab6bfb53ab2c6",
        (193, 192, 215),
    ),
    "pixels": (
        DiscreteNoise(255, "0.5", unit="pixel", channels=3),
        (3, 4, 4),
        "b6487232e18bfe99",
        "68ceab01a3156cd2",
        "10c1f6d405cde784",
        (203, 180, 217),
    ),
    "pixels, others only": (
        DiscreteNoise(1, "1/10", unit="pixel", channels=3),
        (3, 4),
        "b71946d2e9c86e0a",
        "109840d11d736b4f",
        "43b70ea62ff05889",
        (202, 214, 184),
    ),
    "rounded gaussian": (
        RoundedGaussianNoise("0.8"),
        (6,),
        "9012b61509668c37",
        "103747b467089f49",
        "1711d82f525c9dd9",
        (181, 267, 152),
    ),
    "gaussian": (
        GaussianNoise("0.37", k=255),
        (3, 5, 5),
        "3d2f27df2d9dab79",
        "4d3ed8ed02fc1817",
        "11d85ce0a633ec16",
        (214, 183, 203),
    ),
    "gaussian of bits": (
        GaussianNoise("1/2", k=1),
        (7,),
        "db0c432472b4188d",
        "d59505585c60129c",
        "c8db967be42fd7ba",
        (188, 205, 207),
    ),
    "uniform": (
        UniformNoise("2.3", k=6),
        (11,),
        "acd84bbae049cb29",
        "798fb9e0a9f18a4f",
        "6742bf95a920c171",
        (208, 196, 196),
    ),
    "sparse": (
        SparseNoise("0.05", "0.6"),
        (12,),
        "698ab57caf4b60e9",
        "5307ba1a771893ad",
        "781b46c645121651",
        (226, 182, 192),
    ),
    "sparse levels": (
        SparseLevelsNoise(5, "0.1", "0.55"),
        (12,),
        "d9cb26dcbac00cda",
        "8b441a569e4b325d",
        "ada4f4468a92a875",
        (197, 200, 203),
    ),
    "sparse, many levels": (
        SparseLevelsNoise(300, "0.1", "0.5"),
        (9,),
        "510f49f2d587d864",
        "0798b2993f579ce4",
        "3c3d936e58c6185a",
        (206, 179, 215),
    ),
    "mask": (MaskNoise(2, "2/3"), (5,), "346ffc21915541a1", "9f371d8006867e62", "c00b203e2969f2a4", (246, 280, 74)),
    "mask of many": (
        MaskNoise(50_000, "0.4"),
        (20,),
        "e8c726c21f041d05",
        "7239becbb19e1d8c",
        "9603dc0380982b00",
        (191, 192, 217),
    ),
    "mask of all bytes": (
        MaskNoise(255, "0.4"),
        (20,),
        "1b3029f5eaef75af",
        "1799ed1a045ce39b",
        "d08ad4cdb3e1509e",
        (176, 234, 190),
    ),
    "ablation": (
        AblationNoise(2, 10, 3),
        (2, 5),
        "eeeefeb84fd83a15",
        "40128292ef391e99",
        "09fd133f19eb6b15",
        (197, 188, 215),
    ),
    "deletion": (
        DeletionNoise(20, "2/5", 12),
        (9,),
        "bf607107437b59ee",
        "b5b0cea03200234a",
        "446c3d83f39c9ed7",
        (199, 195, 206),
    ),
    "deletion of many": (
        DeletionNoise(400, "0.1", 8),
        (8,),
        "a7650fc9d284d98b",
        "45180fda72f6aef6",
        "1c938330fffd669d",
        (342, 91, 167),
    ),
    "hierarchical": (
        HierarchicalNoise(DiscreteNoise(2, "0.6"), "0.3"),
        (6,),
        "f34c57bec2266202",
        "b263d3ed80a1a8a4",
        "b004f3783350d870",
        (156, 306, 138),
    ),
    "hierarchical mask": (
        HierarchicalNoise(MaskNoise(200, "0.6"), "2/3"),
        (6,),
        "be085c6246350579",
        "f51aa3adfde1c040",
        "dba09ceb60ea5866",
        (193, 271, 136),
    ),
    "total": (
        TotalNoise(SparseNoise("0.05", "0.6")),
        (6,),
        "c9e905177b80b1ae",
        "1b35ad7966f97487",
        "9c97ab265faa5a74",
        (186, 228, 186),
    ),
    "grouped": (
        GroupedNoise([(DiscreteNoise(1, "0.8"), 2), (DiscreteNoise(9, "0.6"), 3), (Discrete(1, "0.7"), 1)]),
        (6,),
        "50909f77de268215",
        "9ad4e23ac41d7120",
        "7e03652bd8b51846",
        (214, 207, 179),
    ),
    "joint": (
        JointNoise(edges=(Sparse("0.1", "0.6"), 4), words=(DeletionNoise(500, "0.5", 5), 5)),
        (9,),
        "79a699eac851a1c3",
        "99a0cd82d061ca68",
        "3c77b676dee805b8",
        (198, 195, 207),
    ),
}
"""Of each noise: the shape of an input, and what was drawn for it when inputs and samples were torch tensors. The key
of its stream, samples of two blocks, a batch for training, and votes: digests, and counts."""


def make_input(noise: NoiseFamily, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Levels that look random. Parts of joint and grouped noise have two levels in common; padding is no symbol."""
    family = noise.description()["family"]
    levels = 2 if family in ("grouped", "joint") else noise.levels - (family == "deletion")
    digests = [hashlib.blake2b(str(place).encode(), digest_size=4).hexdigest() for place in range(prod(shape))]
    return np.array([int(digest, 16) % levels for digest in digests]).reshape(shape)


def count_by_sum(samples: NDArray[Any]) -> NDArray[Any]:
    """A class for each sample that depends on all of its numbers."""
    whole = (samples * np.float32(1_000)).round() if samples.dtype.kind == "f" else samples
    total: NDArray[Any] = whole.astype(np.int64).reshape(len(samples), -1).sum(1) % 3
    return total


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
@pytest.mark.parametrize("name", RECORDED)
def test_samples_and_votes_are_those_of_earlier_releases(name: str) -> None:
    noise, shape, key, samples, batch, counts = RECORDED[name]
    x = make_input(noise, shape)
    classifier = SmoothedClassifier(count_by_sum, noise, 3, feed="levels")
    levels = classifier.levels(x)
    stream = stream_key(7, noise.tag, levels)
    assert stream.hex()[:16] == key
    digest = hashlib.blake2b(digest_size=8)
    for stage, block in ((Stage.BOUND, 0), (Stage.SHOW, 3)):
        drawn = noise.sample(levels, open_source(stream, stage, block), 70)
        digest.update(f"{drawn.dtype} {drawn.shape}".encode())
        digest.update(drawn.tobytes())
    assert digest.hexdigest() == samples
    noisy = add_noise(np.stack([x, x]), noise, seed=3, step=2, feed="levels")
    assert hashlib.blake2b(noisy.tobytes(), digest_size=8).hexdigest() == batch
    assert classifier.certify(x, 20, 600, "0.01", seed=7, stopping="never").counts == counts
