"""Protected positions: noise leaves them alone and strikes the others by its law; certificates cover the others."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.noise_laws import SOURCES, SURE, DrawnBy, Law, law, p_value
from smoothing.small_models import Lookup

from ellzero.certificates import Discrete, InvalidInput, Sparse
from ellzero.smoothing import (
    AblationNoise,
    CertifySettings,
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
    add_noise,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.composed import BaseNoise
from ellzero.smoothing.noise.protected import (
    count_free,
    pair_masks,
    read_input,
    read_inputs,
    sample_noisy,
    sample_noisy_batch,
)

X = (1, 0, 1, 1)
PROTECTED = (True, False, False, True)
# Each noise on four bits, and the same noise on the two that are not protected.
PAIRS: list[tuple[BaseNoise, BaseNoise]] = [
    (DiscreteNoise(1, "0.7"), DiscreteNoise(1, "0.7")),
    (DiscreteNoise(2, "0.2"), DiscreteNoise(2, "0.2")),
    (SparseNoise("0.2", "0.6"), SparseNoise("0.2", "0.6")),
    (SparseLevelsNoise(2, "0.2", "0.6"), SparseLevelsNoise(2, "0.2", "0.6")),
    (MaskNoise(1, "0.5"), MaskNoise(1, "0.5")),
    (AblationNoise(1, 2, 1), AblationNoise(1, 2, 1)),
    (HierarchicalNoise(Discrete(1, "0.6"), "0.7"), HierarchicalNoise(Discrete(1, "0.6"), "0.7")),
    (TotalNoise(Sparse("0.2", "0.6")), TotalNoise(Sparse("0.2", "0.6"))),
    (
        GroupedNoise([(Discrete(1, "0.6"), 2), (Discrete(1, "0.9"), 2)]),
        GroupedNoise([(Discrete(1, "0.6"), 1), (Discrete(1, "0.9"), 1)]),
    ),
    (
        JointNoise(a=(Sparse("0.1", "0.5"), 2), b=(Discrete(1, "0.9"), 2)),
        JointNoise(a=(Sparse("0.1", "0.5"), 1), b=(Discrete(1, "0.9"), 1)),
    ),
]


def around(free: Law) -> Law:
    """The law of whole inputs, from that of the two in the middle."""
    return {(X[0], *middle, X[3]): mass for middle, mass in free.items()}


@pytest.mark.parametrize(("noise", "on_free"), PAIRS, ids=lambda each: each.tag)
@pytest.mark.parametrize("drawn_by", SOURCES)
def test_others_are_struck_exactly_as_if_they_were_alone(
    noise: BaseNoise, on_free: BaseNoise, drawn_by: DrawnBy
) -> None:
    expected = around(law(on_free, X[1:3]))
    x, mask = read_input(noise, np.array(X, np.uint8), list(PROTECTED))
    assert mask is not None
    samples = torch.cat([torch.as_tensor(sample_noisy(noise, x, mask, drawn_by(block), 1_000)) for block in range(20)])
    assert p_value(samples, expected) > SURE
    batch, masks = read_inputs(noise, np.tile(x, (1_000, 1)), np.tile(PROTECTED, (1_000, 1)))
    copies = torch.cat(
        [torch.as_tensor(sample_noisy_batch(noise, batch, masks, drawn_by(block))) for block in range(20)]
    )
    assert p_value(copies, expected) > SURE
    assert count_free(noise, x.shape, mask) == 2


def test_pixels_are_protected_with_all_their_channels() -> None:
    noise = DiscreteNoise(3, "0.1", unit="pixel", channels=2)
    mask = np.array([[True, False], [False, True]])
    x, protected = read_input(noise, np.array([[[1, 2], [3, 0]], [[0, 1], [2, 3]]], np.uint8), mask)
    samples = sample_noisy(noise, x, protected, SOURCES[0](0), 500)
    kept = (samples == x).all(1).all(0)
    assert kept.tolist() == mask.tolist()
    assert count_free(noise, x.shape, protected) == 2
    with pytest.raises(InvalidInput, match=r"^protected must be booleans of shape \(2, 2\)"):
        read_input(noise, x, np.zeros((2, 2, 2), bool))


def test_continuous_noise_leaves_the_scaled_value() -> None:
    x, mask = read_input(GaussianNoise("0.5", k=4), np.array([1, 2, 3], np.uint8), [False, True, False])
    samples = sample_noisy(GaussianNoise("0.5", k=4), x, mask, SOURCES[0](0), 100)
    assert samples[:, 1].tolist() == [0.5] * 100
    assert bool((samples[:, [0, 2]] != np.array([0.25, 0.75])).all())


def test_padding_is_no_position_of_a_sequence_for_deletion() -> None:
    noise, x = DeletionNoise(1, "0.5", 4), np.array([1, 0, 2, 2], np.uint8)  # 2 is padding
    levels, mask = read_input(noise, x, [False, False, True, True])
    assert mask is None
    assert np.array_equal(levels, x)
    with pytest.raises(InvalidInput, match="^protected must be left out for deletion noise"):
        read_input(noise, x, [True, False, True, True])


@pytest.mark.parametrize(
    ("protected", "message"),
    [
        ([True, False, False], r"booleans of shape \(4,\); got 'bool of shape \(3,\)'"),
        ([1, 0, 0, 0], r"booleans of shape \(4,\); got 'int64 of shape \(4,\)'"),
        ([[True, False, False, False]], r"booleans of shape \(4,\)"),
        ([[True], [False, False]], "booleans in the shape of the input; got 'lists of different lengths'"),
        ([True] * 4, "at least one position that is not protected; got 'all 4'"),
        (True, r"booleans of shape \(4,\)"),
    ],
)
def test_wrong_masks_are_one_line(protected: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^protected must be {message}"):
        read_input(MaskNoise(1, "0.5"), np.array(X, np.uint8), protected)  # type: ignore[arg-type]


def test_ablation_shows_some_of_those_that_are_not_protected() -> None:
    classifier = SmoothedClassifier(Lookup(3, 4, 2, lambda point: 0), AblationNoise(1, 3, 1), 2, feed="levels")
    with pytest.raises(InvalidInput, match="^x must be an input of 3 numbers, which the noise is for"):
        classifier.certify(torch.tensor(X), n=10, protected=torch.tensor(PROTECTED))
    assert classifier.certify(torch.tensor(X), n0=10, n=100, protected=[True, False, False, False], seed=1).d == 3


def test_nothing_protected_is_as_if_nothing_was_said() -> None:
    classifier = SmoothedClassifier(Lookup(2, 4, 2, lambda point: point[0]), DiscreteNoise(1, "0.8"), 2, feed="levels")
    plain = classifier.certify(torch.tensor(X), n=500, seed=4)
    masked = classifier.certify(torch.tensor(X), n=500, seed=4, protected=[False] * 4)
    assert (plain.counts, plain.radius, plain.protected) == (masked.counts, masked.radius, 0)


def test_inputs_of_different_lengths_are_certified_together_as_they_are_alone() -> None:
    noise = MaskNoise(9, "0.9")
    lengths = (3, 7, 3, 5)
    inputs = [torch.arange(length) % 10 for length in lengths]
    masks = [None, [True] * 2 + [False] * 5, [True, False, False], None]

    class Shown(torch.nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            shown = (tokens == 2).any(1)
            return torch.stack([~shown, shown], 1).float()

    classifier = SmoothedClassifier(Shown(), noise, 2, feed="levels")
    voting = CertifySettings.of(50, 800, "0.01", 3)
    together = list(classifier.certify_many(inputs, voting, protected=masks))
    for x, mask, result in zip(inputs, masks, together, strict=True):
        alone = classifier.certify(x, n0=50, n=800, failure="0.01", seed=3, protected=mask)
        assert (alone.counts, alone.radius, alone.d) == (result.counts, result.radius, result.d)
    assert [(result.d, result.protected) for result in together] == [(3, 0), (5, 2), (2, 1), (5, 0)]
    with pytest.raises(ValueError, match="fewer"):
        list(classifier.certify_many(inputs, voting, protected=masks[:3]))


NOISES: list[NoiseFamily] = [
    DiscreteNoise(1, "0.8"),
    DiscreteNoise(1, "0.9"),
    SparseNoise("0.1", "0.3"),
    MaskNoise(1, "0.8"),
    AblationNoise(1, 3, 1),
]


@settings(max_examples=30)
@given(
    st.sampled_from(NOISES),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.integers(0, 6),
    st.integers(0, 2**31),
)
def test_no_change_of_free_positions_within_the_radius_changes_the_answer(
    noise: BaseNoise, weights: list[int], centre: int, seed: int
) -> None:
    """All inputs of five bits, of which two are protected: exact votes of each against certificates of all."""
    mask = (False, True, False, False, True)
    levels = noise.sample_levels

    def classify(point: tuple[int, ...]) -> int:
        return int(sum(w * min(v, 1) for w, v in zip(weights, point, strict=True)) > centre)

    def share_of_one(x: tuple[int, ...]) -> Fraction:
        total = Fraction(0)
        for (a, b, c), mass in law(noise, (x[0], x[2], x[3])).items():
            total += mass * classify((a, x[1], b, c, x[4]))
        return total

    truth = {x: share_of_one(x) for x in product((0, 1), repeat=5)}
    classifier = SmoothedClassifier(Lookup(levels, 5, 2, classify), noise, 2, feed="levels")
    voting = CertifySettings.of(20, 3_000, Fraction(1, 10**9), seed)
    points = list(truth)[::3]
    for x, result in zip(
        points, classifier.certify_many(map(torch.tensor, points), voting, protected=[mask] * len(points)), strict=True
    ):
        if result.radius is None:
            continue
        for other in truth:
            if (x[1], x[4]) == (other[1], other[4]) and sum(a != b for a, b in zip(x, other, strict=True)) <= (
                result.radius
            ):
                mine = truth[other] if result.prediction else 1 - truth[other]
                assert mine > Fraction(1, 2)


DNA_NOISES: list[NoiseFamily] = [DiscreteNoise(3, "0.7"), DiscreteNoise(3, "0.2"), MaskNoise(3, "0.8")]


@settings(max_examples=12)
@given(
    st.sampled_from(DNA_NOISES),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.integers(0, 4),
    st.integers(0, 2**31),
)
def test_no_change_of_free_letters_of_dna_within_the_radius_changes_the_answer(
    noise: BaseNoise, motif: list[int], least: int, seed: int
) -> None:
    """All strings of four letters, the first of which is protected, and a classifier that counts those of a motif."""
    mask = (True, False, False, False)

    def classify(point: tuple[int, ...]) -> int:
        return int(sum(letter == own for letter, own in zip(point, motif, strict=True)) >= least)

    points = list(product(range(4), repeat=4))
    truth = {
        x: sum((mass * classify((x[0], *free)) for free, mass in law(noise, x[1:]).items()), Fraction(0))
        for x in points
    }
    classifier = SmoothedClassifier(Lookup(noise.sample_levels, 4, 2, classify), noise, 2, feed="levels")
    voting = CertifySettings.of(20, 1_000, Fraction(1, 10**9), seed)
    chosen = points[seed % 16 :: 16]
    results = classifier.certify_many(map(torch.tensor, chosen), voting, protected=[mask] * len(chosen))
    for x, result in zip(chosen, results, strict=True):
        if result.radius is None:
            continue
        for other in points:
            if other[0] == x[0] and sum(a != b for a, b in zip(x, other, strict=True)) <= result.radius:
                mine = truth[other] if result.prediction else 1 - truth[other]
                assert mine > Fraction(1, 2)


@pytest.mark.parametrize(("masks", "wrong"), [([None], "fewer"), ([None] * 3, "more")])
def test_there_is_a_mask_for_each_of_many_inputs(masks: list[None], wrong: str) -> None:
    pairs = pair_masks([0, 1], masks)
    assert next(pairs) == (0, None)
    with pytest.raises(InvalidInput, match=f"protected must be a mask or None for each input; got '{wrong}'"):
        list(pairs)
    assert list(pair_masks([0, 1], None)) == [(0, None), (1, None)]


def test_training_leaves_protected_positions_alone() -> None:
    batch, mask = torch.arange(40).reshape(4, 10) % 8, torch.zeros(4, 10, dtype=torch.bool)
    mask[:, :3] = True
    mask[2] = True
    noisy = add_noise(batch, MaskNoise(7, "0.9"), seed=1, feed="levels", protected=mask)
    assert torch.equal(noisy[mask], batch[mask])
    assert bool((noisy[~mask] == 8).any())
    with pytest.raises(InvalidInput, match="^protected must be booleans of shape"):
        add_noise(batch, MaskNoise(7, "0.9"), seed=1, feed="levels", protected=mask[:, :2])


def test_a_mask_token_of_the_model_is_shown_instead_of_a_level_of_its_own() -> None:
    own, token = MaskNoise(9, "0.5"), MaskNoise(9, "0.5", mask_token=4)
    assert (own.sample_levels, token.sample_levels) == (11, 10)
    x = np.arange(10, dtype=np.uint8)
    hidden = own.sample(x, SOURCES[0](0), 100)
    assert np.array_equal(token.sample(x, SOURCES[0](0), 100), np.where(hidden == 10, 4, hidden))
    assert token.description() == {"family": "mask", "m": "1/2", "levels": 10, "mask_token": 4}
    assert own.tag != token.tag
    with pytest.raises(InvalidInput, match="^mask_token must be an integer from 0 to 9; got 10"):
        MaskNoise(9, "0.5", mask_token=10)
    shown = AblationNoise(9, 10, 3, mask_token=0).sample(x, SOURCES[0](1), 50)[:, 1:]
    assert np.count_nonzero(shown, axis=1).min() >= 2
