"""Smoothed classifiers of small models, and what their tests compare."""

from dataclasses import replace
from typing import Any

import torch
from smoothing.small_models import Counting
from torch import Tensor, nn

from ellzero.certificates import Discrete
from ellzero.smoothing import Certified, CertifySettings, SmoothedClassifier

NOISE = Discrete(3, "0.7")


def make_inputs(count: int, d: int = 8, levels: int = 4) -> list[Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(0, levels, (d,), generator=generator) for _ in range(count)]


def without_seconds(result: Certified) -> Certified:
    return replace(result, seconds=0.0)


def certify_all(batch_size: int | None, xs: list[Tensor], settings: CertifySettings, d: int = 8) -> list[Certified]:
    classifier = SmoothedClassifier(Counting(d, 3), NOISE, 3, feed="levels", batch_size=batch_size)
    return [without_seconds(result) for result in classifier.certify_many(xs, settings)]


def record_inputs(feed: str, x: Any, noise: Any = None, **options: Any) -> Tensor:
    recorded: list[Tensor] = []

    class Spy(nn.Module):
        def forward(self, samples: Tensor) -> Tensor:
            recorded.append(samples)
            return torch.zeros(len(samples), 2)

    SmoothedClassifier(Spy(), noise or Discrete(255, "0.5"), 2, feed=feed, **options).predict(x, 200, seed=1)
    return recorded[-1]
