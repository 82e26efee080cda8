"""Noises by description, and families of `ellzero.certificates` as noises."""

import pytest

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Grouped,
    Hierarchical,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    Sparse,
    SparseLevels,
    Total,
)
from ellzero.smoothing import (
    DiscreteNoise,
    GroupedNoise,
    HierarchicalNoise,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.registry import describe_noise, make_noise, read_noise


@pytest.mark.parametrize(
    ("family", "noise"),
    [
        (Discrete(3, "0.8"), DiscreteNoise(3, "0.8")),
        (Sparse("0.01", "0.6"), SparseNoise("0.01", "0.6")),
        (SparseLevels(4, "0.01", "0.6"), SparseLevelsNoise(4, "0.01", "0.6")),
        (Hierarchical(Discrete(3, "0.8"), "0.9"), HierarchicalNoise(DiscreteNoise(3, "0.8"), "0.9")),
        (Total(Sparse("0.01", "0.6")), TotalNoise(SparseNoise("0.01", "0.6"))),
        (
            Grouped([(Discrete(3, "0.8"), 2), (Total(Sparse("0.1", "0.6")), 1)]),
            GroupedNoise([(DiscreteNoise(3, "0.8"), 2), (TotalNoise(SparseNoise("0.1", "0.6")), 1)]),
        ),
    ],
)
def test_a_family_that_says_all_is_its_noise(family: Family, noise: NoiseFamily) -> None:
    assert read_noise(family).description() == noise.description()
    assert read_noise(noise) is noise


@pytest.mark.parametrize(
    ("family", "needed"),
    [
        (Mask("0.9"), r"one that draws samples: MaskNoise\(k, m\)"),
        (Ablation(9, 2), r"one that draws samples: AblationNoise\(k, d, keep\)"),
        (Deletion("0.9"), r"one that draws samples: DeletionNoise\(k, m, length\)"),
        (Joint(a=Discrete(1, "0.8")), r"one that draws samples: JointNoise\(name=\(noise, columns\), …\)"),
        (RegionList([[(1, 1)]]), "one that draws samples; likelihood regions do not say how to"),
        (Hierarchical(Mask("0.5"), "0.9"), r"one that draws samples: MaskNoise\(k, m\)"),
    ],
)
def test_a_family_that_says_too_little_is_refused_with_what_it_needs(family: Family, needed: str) -> None:
    with pytest.raises(InvalidInput, match=f"^noise must be {needed}"):
        read_noise(family)


def test_descriptions_of_what_there_is_not_are_refused() -> None:
    with pytest.raises(InvalidInput, match="^noise must be one of discrete, .*total; got 'foggy'"):
        make_noise({"family": "foggy", "levels": 2})
    with pytest.raises(InvalidInput, match="^noise must be one of discrete, .*total; got 'regions'"):
        make_noise({"family": "regions", "levels": 2, "regions": []})
    with pytest.raises(InvalidInput, match="^base must be a noise of a family"):
        make_noise({"family": "total", "levels": 2, "base": {"family": "gaussian", "sigma": "1", "levels": 2}})


def test_words_for_people() -> None:
    bits = SparseNoise("0.01", "0.6")
    grouped = GroupedNoise([(TotalNoise(bits), 1), (DiscreteNoise(3, "0.8"), 12)])
    assert describe_noise(grouped.description()) == (
        "1 column: sparse bits, p_add = 0.01, p_del = 0.6; 12 columns: K = 3, α = 4/5 per coordinate"
    )
    hierarchical = HierarchicalNoise(bits, "0.9")
    assert describe_noise(hierarchical.description()) == (
        "struck with probability 0.9 by: sparse bits, p_add = 0.01, p_del = 0.6"
    )
    with pytest.raises(InvalidInput, match="^noise must be one of"):
        describe_noise({"family": "foggy"})
