"""Noise for sparse bits: its law, and that its certificates are true of every input near by."""

from fractions import Fraction
from itertools import product
from math import sqrt

import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.small_models import Lookup

from ellzero.certificates import InvalidInput, Sparse, Votes, certified_from_votes
from ellzero.smoothing import CertifySettings, SmoothedClassifier, SparseNoise
from ellzero.smoothing.noise.random_streams import DeviceRandomSource, Stage, open_source
from ellzero.smoothing.noise.registry import describe_noise, make_noise

CPU = torch.device("cpu")


@pytest.mark.parametrize(("p_add", "p_del"), [("0.01", "0.6"), ("1/3", "1/7"), ("0.9", "0.95"), ("1/1000", "1/2")])
@pytest.mark.parametrize("drawn_by", [open_source, DeviceRandomSource])
def test_zeros_and_ones_flip_as_often_as_they_should(p_add: str, p_del: str, drawn_by: object) -> None:
    """Two million of each, within six standard deviations; and independently of their neighbours."""
    noise = SparseNoise(p_add, p_del)
    x = torch.tensor([0, 1] * 1_000, dtype=torch.uint8)
    samples = torch.cat(
        [noise.sample(x, drawn_by(b"sparse test", Stage.BOUND, block, CPU), 256) for block in range(8)]  # type: ignore[operator]
    )
    assert samples.dtype == torch.uint8
    flipped = (samples != x).double()
    for own, share in ((0, float(Fraction(p_add))), (1, float(Fraction(p_del)))):
        rate = float(flipped[:, own::2].mean())
        assert abs(rate - share) < 6 * sqrt(share * (1 - share) / (1_000 * len(samples)))
    both = float((flipped[:, 0::2] * flipped[:, 1::2]).mean())
    expected = float(Fraction(p_add) * Fraction(p_del))
    assert abs(both - expected) < 6 * sqrt(expected * (1 - expected) / (1_000 * len(samples)))


def test_each_input_of_a_batch_is_struck_by_its_own_noise() -> None:
    noise = SparseNoise("0.01", "0.99")
    batch = torch.tensor([[0] * 500, [1] * 500], dtype=torch.uint8)
    zeros, ones = noise.sample_batch(batch, open_source(b"sparse test", Stage.TRAIN, 0, CPU))
    assert int(zeros.sum()) < 50
    assert int(ones.sum()) < 50


def shares(model: Lookup, noise: Sparse, x: tuple[int, ...]) -> list[Fraction]:
    """The exact probability of each class under noise at x."""
    result = [Fraction(0)] * (max(model.labels) + 1)
    for point, label in zip(model.space, model.labels, strict=True):
        mass = Fraction(1)
        for before, after in zip(x, point, strict=True):
            flips = noise.p_del if before else noise.p_add
            mass *= flips if before != after else 1 - flips
        result[label] += mass
    return result


@settings(max_examples=25)
@given(
    st.sampled_from([("0.01", "0.6"), ("1/4", "1/3"), ("0.1", "0.1"), ("0.4", "0.7")]),
    st.randoms(use_true_random=False),
    st.sampled_from(["settled", "staged", "anytime", "never"]),
    st.booleans(),
)
def test_what_is_certified_is_true_of_every_input(
    parameters: tuple[str, str], random: object, stopping: str, runner_up: bool
) -> None:
    """All inputs of a small space: within the radius, and within each budget of the staircase of the same votes."""
    draw = random.randrange  # type: ignore[attr-defined]
    d, sparse = 4, Sparse(*parameters)
    weights, centre = [draw(1, 4) for _ in range(d)], draw(1, 6)
    model = Lookup(2, d, 3, lambda point: min(2, sum(w * v for w, v in zip(weights, point, strict=True)) // centre))
    truth = {point: shares(model, sparse, point) for point in model.space}
    classifier = SmoothedClassifier(model, sparse, 3, feed="levels")
    if runner_up and stopping == "anytime":
        stopping = "settled"
    chosen = [model.space[draw(len(model.space))] for _ in range(4)]
    voting = CertifySettings.of(20, 2_000, Fraction(1, 10**9), draw(10**6), stopping, runner_up)
    for x, result in zip(chosen, classifier.certify_many(map(torch.tensor, chosen), voting), strict=True):
        limits = {"add": d, "delete": d}
        votes = Votes(result.counts[result.prediction], voting.n, voting.failure) if result.radius is not None else None
        staircase = certified_from_votes(sparse, votes, limits) if votes is not None and stopping == "never" else None
        budgets = [sparse.read_budget(each) for each in staircase] if isinstance(staircase, tuple) else []
        for other, there in truth.items():
            add = sum(a < b for a, b in zip(x, other, strict=True))
            delete = sum(a > b for a, b in zip(x, other, strict=True))
            near = result.radius is not None and add + delete <= result.radius
            if near or any(add <= budget[0] and delete <= budget[1] for budget in budgets):
                assert all(
                    there[result.prediction] > share for label, share in enumerate(there) if label != result.prediction
                )


def test_a_description_makes_the_same_noise() -> None:
    noise = SparseNoise("0.01", "3/5")
    assert make_noise(noise.description()) == noise
    assert hash(make_noise(noise.description())) == hash(noise)
    assert noise != SparseNoise("0.01", "0.61")
    assert describe_noise(noise.description()) == "sparse bits, p_add = 0.01, p_del = 0.6"
    with pytest.raises(InvalidInput, match="^noise must be another one for inputs that are not bits"):
        make_noise({**noise.description(), "levels": 256})


def test_all_points_of_two_bits_are_reached() -> None:
    noise = SparseNoise("1/2", "1/2")
    drawn = noise.sample(torch.tensor([0, 1], dtype=torch.uint8), open_source(b"x", Stage.SHOW, 0, CPU), 64)
    assert {tuple(row) for row in drawn.tolist()} == set(product((0, 1), repeat=2))
