"""Noise that deletes symbols of sequences: what the model sees of them, and of their lengths."""

import numpy as np
import pytest
import torch
from scipy import stats
from smoothing.noise_laws import SOURCES, SURE, DrawnBy, draw
from torch import Tensor, nn

from ellzero.certificates import Deletion, InvalidInput, Votes, certified_from_votes
from ellzero.smoothing import DeletionNoise, SmoothedClassifier, add_noise

NOISE = DeletionNoise(3, "0.7", 20)


class AnySeven(nn.Module):
    """Class 1 if any symbol is 7, otherwise class 0."""

    def forward(self, symbols: Tensor) -> Tensor:
        seen = (symbols == 7).any(dim=1)
        return torch.stack([~seen, seen], dim=1).float()


@pytest.mark.parametrize("drawn_by", SOURCES)
def test_symbols_that_are_left_keep_their_order_and_then_comes_padding(drawn_by: DrawnBy) -> None:
    noise = DeletionNoise(200, "1/3", 100)
    x = noise.read_batch(np.arange(60, dtype=np.uint8)[None])[0]
    assert x.tolist() == [*range(60), *[201] * 40]
    samples = torch.cat([draw(noise, x, drawn_by(block), 2_048) for block in range(4)]).to(torch.int64)
    symbols = samples != 201
    assert bool((symbols[:, 1:] <= symbols[:, :-1]).all())  # no symbol after padding
    assert bool((samples[:, 1:] > samples[:, :-1])[symbols[:, 1:]].all())  # in their order, none twice
    lengths = symbols.sum(1)
    bins = [range(35), *([length] for length in range(35, 46)), range(46, 61)]
    seen = [sum(int((lengths == length).sum()) for length in each) for each in bins]
    law = [sum(float(stats.binom.pmf(length, 60, 2 / 3)) for length in each) for each in bins]
    assert stats.chisquare(seen, [mass * len(samples) for mass in law], sum_check=False).pvalue > SURE


def test_what_is_seen_does_not_depend_on_the_length_of_an_input() -> None:
    """An adversary may insert and delete: an input, and the same one padded, are one input with one set of votes."""
    classifier = SmoothedClassifier(AnySeven(), DeletionNoise(9, "0.9", 50), 2, feed="levels")
    short = torch.tensor([7, 7, 7, *[1] * 20])
    padded = torch.cat([short, torch.full((27,), 10)])
    first, second = (classifier.certify(x, n0=100, n=10_000, seed=1) for x in (short, padded))
    assert first.counts == second.counts
    assert (first.prediction, first.radius, first.d) == (0, 2, 50)  # p = 0.9³ = 0.729: as three masked tokens
    empty = classifier.certify(torch.full((50,), 10), n0=10, n=1_000, seed=1)
    assert (empty.prediction, empty.count) == (0, 1_000)


def test_a_radius_is_an_edit_distance_of_at_most_the_length() -> None:
    votes = Votes(10_000, 10_000, "0.001")
    assert NOISE.radius(votes, 20) == certified_from_votes(Deletion("0.7"), votes, 20)
    assert DeletionNoise(3, "0.99", 20).radius(votes, NOISE.dimension((5,))) == 20


def test_wrong_sequences_are_refused() -> None:
    classifier = SmoothedClassifier(AnySeven(), NOISE, 2, feed="levels")
    with pytest.raises(InvalidInput, match="^x must be a sequence of at most 20 symbols; got \\(21,\\)"):
        classifier.predict(torch.zeros(21, dtype=torch.int64))
    with pytest.raises(InvalidInput, match="^x must be a sequence of at most 20 symbols; got \\(1, 5\\)"):
        classifier.predict(torch.zeros(1, 5, dtype=torch.int64))
    with pytest.raises(InvalidInput, match="^x must be symbols, then padding \\(level 4\\), if any; got 'a symbol"):
        classifier.predict(torch.tensor([1, 4, 1]))
    with pytest.raises(InvalidInput, match="^x must be levels from 0 to 4; got 5"):
        classifier.predict(torch.tensor([1, 5]))
    with pytest.raises(InvalidInput, match="^length must be an integer from 1"):
        DeletionNoise(3, "0.7", 0)


def test_batches_for_training_are_padded_too() -> None:
    batch = add_noise(torch.tensor([[1, 2, 4], [3, 4, 4]]), NOISE, seed=1, feed="levels")
    assert batch.shape == (2, 20)
    assert bool((batch[:, 3:] == 4).all())
