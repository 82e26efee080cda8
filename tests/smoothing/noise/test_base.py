"""What every noise promises: its law, its levels, samples that depend on no batch, and a description that makes it."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from smoothing.noise_laws import CPU, SOURCES, SURE, DrawnBy, draw, exact_law, law, on_the_host, p_value
from torch import Tensor, nn

from ellzero.certificates import Block, Discrete, InvalidInput, Sparse, Votes
from ellzero.smoothing import (
    AblationNoise,
    CertifySettings,
    DeletionNoise,
    DiscreteNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SmoothedClassifier,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
)
from ellzero.smoothing.noise.composed import BaseNoise
from ellzero.smoothing.noise.random_streams import Stage, open_source
from ellzero.smoothing.noise.registry import describe_noise, make_noise

BITS, LEVELS = (0, 1, 1, 0), (0, 2, 1, 2)
NOISES: list[tuple[BaseNoise, tuple[int, ...]]] = [
    (DiscreteNoise(2, "0.6"), LEVELS),
    (SparseNoise("0.05", "0.6"), BITS),
    (SparseLevelsNoise(1, "1/3", "1/7"), BITS),
    (SparseLevelsNoise(2, "0.1", "0.55"), LEVELS),
    (MaskNoise(2, "2/3"), LEVELS),
    (AblationNoise(2, 4, 1), LEVELS),
    (AblationNoise(2, 4, 2), LEVELS),
    (AblationNoise(2, 4, 3), LEVELS),
    (AblationNoise(2, 4, 4), LEVELS),
    (DeletionNoise(2, "2/5", 4), LEVELS),
    (DeletionNoise(2, "1/5", 5), (1, 1, 0, 3, 3)),
    (HierarchicalNoise(DiscreteNoise(2, "0.6"), "0.3"), LEVELS[:3]),
    (HierarchicalNoise(MaskNoise(2, "0.6"), "2/3"), LEVELS[:3]),
    (HierarchicalNoise(HierarchicalNoise(SparseNoise("0.1", "0.6"), "1/2"), "0.7"), BITS[:3]),
    (TotalNoise(SparseNoise("0.05", "0.6")), BITS),
    (GroupedNoise([(DiscreteNoise(1, "0.8"), 2), (DiscreteNoise(2, "0.6"), 1), (Discrete(1, "0.7"), 1)]), (1, 0, 2, 1)),
    (GroupedNoise([(MaskNoise(1, "0.5"), 2), (AblationNoise(2, 2, 1), 2)]), (1, 0, 2, 1)),
    (JointNoise(edges=(Sparse("0.1", "0.6"), 2), words=(DeletionNoise(2, "0.5", 3), 3)), (1, 0, 2, 1, 3)),
    (HierarchicalNoise(JointNoise(a=(SparseNoise("0.1", "0.6"), 1), b=(MaskNoise(2, "0.5"), 2)), "0.8"), (1, 2, 0)),
]
every_noise = pytest.mark.parametrize(("noise", "x"), NOISES, ids=lambda each: getattr(each, "tag", ""))


def as_input(noise: BaseNoise, x: tuple[int, ...]) -> NDArray[Any]:
    own: NDArray[Any] = noise.read_batch(np.array([x], np.uint8))[0]
    return own


@every_noise
@pytest.mark.parametrize("drawn_by", SOURCES)
def test_whole_samples_have_the_law_of_the_noise(noise: BaseNoise, x: tuple[int, ...], drawn_by: DrawnBy) -> None:
    """χ² over all that an input can become, so over dependences between its numbers too: 200,000 samples."""
    samples = torch.cat([draw(noise, as_input(noise, x), drawn_by(block), 50_000) for block in range(4)])
    assert p_value(samples, law(noise, x)) > SURE
    assert samples.dtype == torch.uint8
    assert int(samples.max()) < noise.sample_levels


@pytest.mark.parametrize(
    ("noise", "other"),
    [
        (SparseLevelsNoise(2, "0.1", "0.55"), SparseLevelsNoise(2, "0.11", "0.55")),
        (MaskNoise(2, "2/3"), MaskNoise(2, "0.66")),
        (DeletionNoise(2, "2/5", 4), DeletionNoise(2, "0.41", 4)),
        (HierarchicalNoise(MaskNoise(2, "0.6"), "2/3"), HierarchicalNoise(MaskNoise(2, "0.6"), "0.66")),
    ],
)
def test_a_law_that_is_slightly_different_would_be_seen(noise: BaseNoise, other: BaseNoise) -> None:
    samples = torch.cat([draw(noise, as_input(noise, LEVELS), on_the_host(block), 50_000) for block in range(4)])
    assert p_value(samples, law(other, LEVELS)) < SURE


@pytest.mark.parametrize(
    ("noise", "sizes"),
    [
        (DiscreteNoise(3, "5/8"), (16, -4)),  # 5/8 = 1/2 + (1/2)/4: half of the coins keep, the others draw from all
        (SparseNoise("1/16", "5/8"), (16, 16)),
        (SparseLevelsNoise(4, "3/16", "1/2"), (16, 16, -4)),
        (SparseLevelsNoise(1, "3/16", "1/2"), (16, 16, -1)),
        (MaskNoise(3, "9/16"), (16,)),
        (HierarchicalNoise(DiscreteNoise(3, "5/8"), "3/16"), (16, -4, 16)),
        (HierarchicalNoise(SparseLevelsNoise(4, "3/16", "1/2"), "3/4"), (16, 16, -4, 4)),
        (HierarchicalNoise(MaskNoise(3, "9/16"), "3/4"), (16, 4)),
    ],
    ids=lambda each: getattr(each, "tag", ""),
)
def test_of_all_words_a_changed_number_shows_the_block_of_the_family(noise: BaseNoise, sizes: tuple[int, ...]) -> None:
    """No statistics: the law is counted over all random words, and compared with what is certified."""
    family = noise.noise
    sparse = {"add": (0, 1), "delete": (1, 0), "change": (1, 2)}
    for place, axis in enumerate(family.axes):
        if family.most[place] == 0:
            continue
        here, there = (1, 0) if len(family.axes) == 1 else sparse[axis]
        counts = tuple(int(place == other) for other in range(len(family.axes)))
        ((block, _),) = [each for perturbation in family.perturbations(counts) for each in perturbation if each[1]]
        at_x, at_xbar = exact_law(noise, here, sizes), exact_law(noise, there, sizes)
        outcomes = [(at_x.get(each, Fraction(0)), at_xbar.get(each, Fraction(0))) for each in at_x | at_xbar]
        assert merge(Block(outcomes)) == merge(block)


def merge(block: Block) -> dict[Fraction, tuple[Fraction, Fraction]]:
    """The outcomes of a block by likelihood ratio, as shares of both."""
    merged: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for x, xbar in block.outcomes:
        if x or xbar:
            before = merged.get(Fraction(x) / (x + xbar), (Fraction(0), Fraction(0)))
            merged[Fraction(x) / (x + xbar)] = (before[0] + x, before[1] + xbar)
    return merged


@every_noise
def test_votes_depend_on_no_batch(noise: BaseNoise, x: tuple[int, ...]) -> None:
    class Sum(nn.Module):
        def forward(self, samples: Tensor) -> Tensor:
            return nn.functional.one_hot(samples.flatten(1).sum(1) % 3, 3).float()

    def counts(batch_size: int | None) -> list[tuple[int, ...]]:
        classifier = SmoothedClassifier(Sum(), noise, 3, feed="levels", batch_size=batch_size)
        settings = CertifySettings.of(10, 1_100, "0.01", 7, "never")
        tasks = [classifier.task(torch.tensor(x), settings) for _ in range(2)]
        return [each.counts for each in classifier.sampler.run(tasks)]

    assert counts(None) == counts(64) == counts(1_000)


@every_noise
def test_each_input_of_a_batch_is_struck_as_copies_of_one_are(noise: BaseNoise, x: tuple[int, ...]) -> None:
    own = as_input(noise, x)
    copies = torch.as_tensor(noise.sample_batch(np.broadcast_to(own, (500, *own.shape)), on_the_host(3)))
    assert torch.equal(copies, draw(noise, own, on_the_host(3), 500))
    assert torch.equal(draw(noise, own, on_the_host(3), 500), copies)
    assert not torch.equal(draw(noise, own, on_the_host(4), 500), copies) or bool((copies == copies[0]).all())


@every_noise
def test_a_description_makes_the_same_noise(noise: BaseNoise, x: tuple[int, ...]) -> None:
    description = json.loads(json.dumps(noise.description()))
    again = make_noise(description)
    assert again == noise
    assert hash(again) == hash(noise)
    assert again.tag == noise.tag
    assert describe_noise(description)
    votes = Votes(9_990, 10_000, "0.001")
    d = noise.dimension((len(x),))
    assert again.radius(votes, d) == noise.radius(votes, d)


def test_noises_of_different_laws_have_different_streams() -> None:
    tags = [noise.tag for noise, _ in NOISES if not isinstance(noise, TotalNoise)]
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize(
    "noise", [SparseLevelsNoise(300, "0.1", "0.5"), HierarchicalNoise(Discrete(200, "0.5"), "0.5")]
)
def test_samples_of_more_levels_than_a_byte_has(noise: BaseNoise) -> None:
    x = torch.full((100,), 150)
    x = x.to(torch.int32 if noise.levels > 256 else torch.uint8)
    samples = draw(noise, x, open_source(b"many", Stage.BOUND, 0, CPU), 200)
    assert samples.dtype == torch.int32
    assert 256 < int(samples.max()) < noise.sample_levels
    assert 0.3 < float((samples == 150).double().mean()) < 0.7


def test_parts_of_one_vector_may_need_different_integers() -> None:
    noise = JointNoise(bits=(DiscreteNoise(1, "0.9"), 3), words=(DeletionNoise(500, "0.1", 3), 3))
    x = noise.read_batch(np.array([[1, 0, 1, 400, 7, 501]], np.int32))[0]
    for drawn_by in SOURCES:
        samples = draw(noise, x, drawn_by(0), 1_000)
        assert set(samples[:, :3].flatten().tolist()) == {0, 1}
        assert set(samples[:, 3:].flatten().tolist()) == {400, 7, 501}


def test_scaled_inputs_have_no_place_for_levels_of_samples_alone() -> None:
    class Zero(nn.Module):
        def forward(self, samples: Tensor) -> Tensor:
            return torch.zeros(len(samples), 2)

    for noise in (AblationNoise(2, 4, 1), HierarchicalNoise(Discrete(2, "0.5"), "0.5")):
        with pytest.raises(InvalidInput, match="^feed must be levels for this noise"):
            SmoothedClassifier(Zero(), noise, 2)
