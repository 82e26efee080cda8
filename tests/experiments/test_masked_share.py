"""A fixed share of the tokens of each sentence is hidden: of as many as it has, and never all but one."""

from fractions import Fraction

import pytest
import torch

from ellzero.certificates import Ablation, Votes, certified_from_votes
from ellzero.experiments.masked_share import MaskedShareClassifier, count_shown
from ellzero.smoothing import CertifySettings, MaskNoise
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import SavedModel


@pytest.mark.parametrize(
    ("d", "share", "shown"),
    [(20, "0.9", 2), (30, "0.9", 3), (5, "0.9", 2), (1, "0.9", 1), (10, "0.6", 4), (5, "0.5", 3)],
)
def test_the_share_is_rounded_and_two_are_left(d: int, share: str, shown: int) -> None:
    assert count_shown(d, Fraction(share), 2) == shown


def test_each_sentence_is_certified_for_the_tokens_that_it_has() -> None:
    class Telling(torch.nn.Module):
        """Class 1 if token 7 is shown, and how many tokens are shown."""

        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            shown.update(((tokens != 0) & (tokens != 2)).sum(1).tolist())
            return torch.stack([(tokens == 7).all(1), (tokens == 7).any(1)], 1).float()

    shown = set[int]()
    card = ModelCard("none", (12,), 2, 9, feed="levels")
    classifier = MaskedShareClassifier(SavedModel(Telling(), card, ""), MaskNoise(8, "0.6", mask_token=2), 2, 2)
    settings = CertifySettings.of(50, 500, "0.001", 3, "never")
    for d, keep in ((10, 4), (5, 2), (3, 2)):
        shown.clear()
        tokens = torch.tensor([7] * d + [0] * (12 - d))
        (result,) = classifier.certify_many([tokens], settings, protected=[tokens == 0])
        assert shown - {d} == {keep}  # a batch of the input as it is tells how large batches may be
        assert (result.d, result.protected) == (d, 12 - d)
        votes = Votes(result.count, 500, "0.001")
        assert result.radius == certified_from_votes(Ablation(d, keep), votes, d)
        assert result.noise["keep"] == keep
