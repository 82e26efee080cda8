"""The loss of a step: cross entropy, and the divergence of the answers on copies of an input."""

from math import exp, log

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor, nn

from ellzero.smoothing.training_loss import compute_loss

LABELS = torch.tensor([0, 2])


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, int]:
    """Scores of one to four copies of two inputs, three classes."""
    copies = draw(st.integers(1, 4))
    scores = draw(st.lists(st.floats(-8, 8), min_size=6 * copies, max_size=6 * copies))
    return torch.tensor(scores, dtype=torch.float64).view(2 * copies, 3), copies


def divergence(scores: Tensor, copies: int) -> float:
    """The mean of KL(q ‖ p), number by number."""
    total = 0.0
    for place in range(2):
        rows = [scores[copy * 2 + place].tolist() for copy in range(copies)]
        shares = [[exp(score) / sum(map(exp, row)) for score in row] for row in rows]
        mean = [sum(column) / copies for column in zip(*shares, strict=True)]
        total += sum(q * log(q / p) for share in shares for p, q in zip(share, mean, strict=True)) / copies
    return total / 2


@given(batches(), st.floats(0.01, 50))
def test_consistency_adds_the_mean_divergence_from_the_mean_of_the_copies(
    batch: tuple[Tensor, int], weight: float
) -> None:
    scores, copies = batch
    plain = float(nn.functional.cross_entropy(scores, LABELS.repeat(copies)))
    expected = plain + weight * divergence(scores, copies)
    assert float(compute_loss(scores, LABELS, copies, weight)) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(batches())
def test_without_consistency_it_is_the_cross_entropy_to_the_byte(batch: tuple[Tensor, int]) -> None:
    scores, copies = batch
    assert torch.equal(
        compute_loss(scores, LABELS, copies, 0.0), nn.functional.cross_entropy(scores, LABELS.repeat(copies))
    )


@given(batches(), st.integers(2, 4))
def test_copies_that_are_answered_alike_add_nothing(batch: tuple[Tensor, int], copies: int) -> None:
    scores = batch[0][:2].repeat(copies, 1)
    plain = nn.functional.cross_entropy(scores, LABELS.repeat(copies))
    assert torch.allclose(compute_loss(scores, LABELS, copies, 5.0), plain, atol=1e-9)
