"""Noises made of noises: what they are made of, what fits them, and what the model sees."""

import numpy as np
import pytest
import torch
from smoothing.noise_laws import draw, on_the_host

from ellzero.certificates import (
    Discrete,
    Grouped,
    Hierarchical,
    InvalidInput,
    Joint,
    Sparse,
    Total,
    Votes,
    certified_from_votes,
)
from ellzero.smoothing import (
    AblationNoise,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SparseNoise,
    TotalNoise,
    add_noise,
)
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise

VOTES = Votes(9_990, 10_000, "0.001")
GRAPH = JointNoise(edges=(SparseNoise("0.01", "0.6"), 4), words=(MaskNoise(9, "0.9"), 3))
TABLE = GroupedNoise([(DiscreteNoise(1, "0.8"), 2), (DiscreteNoise(6, "0.6"), 3), (DiscreteNoise(1, "0.8"), 1)])


def test_certificates_are_those_of_the_family() -> None:
    joint = Joint(edges=Sparse("0.01", "0.6"), words=MaskNoise(9, "0.9").noise)
    assert GRAPH.radius(VOTES, 7) == certified_from_votes(Total(joint), VOTES, 7)
    table = Grouped([(Discrete(1, "0.8"), 3), (Discrete(6, "0.6"), 3)])  # equal kinds are one member
    assert table == TABLE.noise
    assert TABLE.radius(VOTES, 6) == certified_from_votes(table, VOTES)
    assert TABLE.dimension((6,)) == 6
    hierarchical = Hierarchical(Discrete(6, "0.6"), "0.95")
    assert HierarchicalNoise(DiscreteNoise(6, "0.6"), "0.95").radius(VOTES, 9) == certified_from_votes(
        hierarchical, VOTES, 9
    )


def test_a_model_can_take_apart_what_was_struck_and_what_is_seen() -> None:
    noise = HierarchicalNoise(DiscreteNoise(3, "0.1"), "0.5")
    x = torch.tensor([0, 1, 2, 3] * 250, dtype=torch.uint8)
    samples = draw(noise, x, on_the_host(0), 64).to(torch.int64)
    struck = samples > 3
    values = samples - 4 * struck
    assert bool((values[~struck] == x.expand_as(values)[~struck]).all())
    assert 0.48 < float(struck.double().mean()) < 0.52
    assert 0.09 < float((values == x)[struck].double().mean()) < 0.11


def test_columns_keep_their_order_when_kinds_come_again() -> None:
    x = torch.tensor([1, 0, 6, 5, 4, 1], dtype=torch.uint8)
    samples = draw(TABLE, x, on_the_host(0), 4_000)
    kept = (samples == x).double().mean(0).tolist()
    assert [round(share, 1) for share in kept] == [0.8, 0.8, 0.6, 0.6, 0.6, 0.8]
    assert samples.max(0).values.tolist() == [1, 1, 6, 6, 6, 1]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([0, 1, 2, 3, 4], r"^x must be a vector of 6 columns, which the noise is for; got \(5,\)"),
        ([0, 2, 6, 6, 6, 1], r"^x \(members\[0\]\) must be levels from 0 to 1; got 2"),
        ([0, 1, 6, 6, 6, 3], r"^x \(members\[2\]\) must be levels from 0 to 1; got 3"),
        ([0, 1, 7, 6, 6, 1], "^x must be levels from 0 to 6; got 7"),
    ],
)
def test_inputs_that_do_not_fit_the_columns_are_refused(x: list[int], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        add_noise(torch.tensor([x]), TABLE, seed=1)


def test_a_part_that_is_a_sequence_is_padded_by_whoever_gives_it() -> None:
    noise = JointNoise(image=(DiscreteNoise(1, "0.8"), 2), text=(DeletionNoise(3, "0.5", 4), 4))
    assert noise.read_batch(np.array([[1, 0, 3, 3, 4, 4]])).tolist() == [[1, 0, 3, 3, 4, 4]]
    with pytest.raises(InvalidInput, match=r"^x must be symbols, then padding \(level 4\)"):
        noise.read_batch(np.array([[1, 0, 3, 4, 3, 4]]))
    with pytest.raises(InvalidInput, match=r"^x \(image\) must be levels from 0 to 1; got 2"):
        noise.read_batch(np.array([[1, 2, 3, 4, 4, 4]]))


def test_parts_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidInput, match="^a must be a pair of a noise and its number of columns"):
        JointNoise(a=SparseNoise("0.1", "0.6"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="^a must be an input of 4 numbers, which the noise is for; got '5 columns'"):
        JointNoise(a=(AblationNoise(3, 4, 2), 5))
    with pytest.raises(InvalidInput, match="^a must be 4 columns, the length that its inputs are padded to; got 3"):
        JointNoise(a=(DeletionNoise(3, "0.5", 4), 3))
    with pytest.raises(InvalidInput, match=r"^members\[0\].columns must be 4, all that .* has; got 5"):
        GroupedNoise([(AblationNoise(3, 4, 2), 5)])
    with pytest.raises(InvalidInput, match="^members must be pairs of a family with a single kind of change"):
        GroupedNoise([(SparseNoise("0.1", "0.6"), 3)])
    with pytest.raises(InvalidInput, match=r"^members\[0\] must be an integer of at least 1; got 0"):
        GroupedNoise([(DiscreteNoise(1, "0.8"), 0)])
    for base in (
        GaussianNoise("0.5"),
        DiscreteNoise(3, "0.5", unit="pixel", channels=3),
        RoundedGaussianNoise("0.9"),
        3,
    ):
        with pytest.raises(InvalidInput, match="^base must be a noise of a family on single numbers"):
            TotalNoise(base)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="^base must be a family of noises that strike each coordinate by itself"):
        HierarchicalNoise(AblationNoise(3, 4, 2), "0.5")
    with pytest.raises(InvalidInput, match="^base must be a noise with at most 1,073,741,823 levels"):
        HierarchicalNoise(MaskNoise(2**30, "0.5"), "0.5")
    with pytest.raises(InvalidInput, match="^members must be "):
        GroupedNoise([])
    with pytest.raises(InvalidInput, match="^members must be "):
        JointNoise()
