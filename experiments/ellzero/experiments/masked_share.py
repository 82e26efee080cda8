"""Masking a fixed share of the tokens of each sentence, as RanMASK does: ablation whose d is that of the sentence.

Zeng et al.: *Certified Robustness to Text Adversarial Attacks by Randomized [MASK]*, Computational Linguistics 2023,
https://arxiv.org/abs/2105.03743.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ellzero.core.numbers import read_shortest
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.models.model_io import InputLike, read_levels
from ellzero.smoothing.noise.mask import AblationNoise, MaskNoise
from ellzero.smoothing.noise.protected import MaskLike, count_free, read_input
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.model_function import CalledModel
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask


def count_shown(d: int, share: Fraction, least: int) -> int:
    """How many of d tokens are shown if the share of the others is hidden, rounded: at least ``least``, if there are as
    many."""
    return min(d, max(least, d - round(share * d)))


class MaskedShareClassifier(SmoothedClassifier):
    """Hides the share ``masked.m`` of the tokens that are not protected, exactly and not in the mean."""

    def __init__(self, saved: SavedModel | CalledModel, masked: MaskNoise, mask_token: int, least: int) -> None:
        super().__init__(saved.network, masked, saved.card.num_classes, "cpu", feed=saved.card.feed)
        self._share, self._mask_token, self._least = Fraction(masked.description()["m"]), mask_token, least

    def task(self, x: InputLike, settings: CertifySettings, protected: MaskLike | None = None) -> CertifyTask:
        levels = read_levels(x, self.noise.levels)
        _, free = read_input(self.noise, levels, protected)
        d = count_free(self.noise, levels.shape, free)
        noise = AblationNoise(
            self.noise.levels - 1, d, count_shown(d, self._share, self._least), mask_token=self._mask_token
        )
        levels, mask = read_input(noise, levels, protected)
        return CertifyTask(levels, noise, self.num_classes, settings, mask)


@dataclass(frozen=True)
class MaskedShareRun(DatasetRun):
    """A run whose noise depends on the length of each input."""

    def make_classifier(self, saved: SavedModel | CalledModel) -> SmoothedClassifier:
        noise: Any = self.noise
        share = read_shortest(noise["share"], "share", "a number")
        masked = MaskNoise(noise["levels"] - 1, share, mask_token=noise["mask_token"])
        return MaskedShareClassifier(saved, masked, noise["mask_token"], noise["least"])


def describe_masked_share(levels: int, share: str, mask_token: int, least: int) -> dict[str, Any]:
    """The noise as a run states it."""
    return {"family": "masked-share", "share": share, "least": least, "levels": levels, "mask_token": mask_token}
