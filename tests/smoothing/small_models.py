"""Models whose smoothed answer can be computed exactly."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import torch
from torch import Tensor, nn

from ellzero.certificates import Discrete

Space = list[tuple[int, ...]]


class Lookup(nn.Module):
    """A classifier on levels that is a table: the class of each point of a small space."""

    def __init__(self, levels: int, d: int, classes: int, label: Callable[[tuple[int, ...]], int]) -> None:
        super().__init__()
        self.space: Space = list(product(range(levels), repeat=d))
        self.labels = [label(point) for point in self.space]
        self.places = torch.tensor([levels**i for i in reversed(range(d))])
        self.scores = nn.functional.one_hot(torch.tensor(self.labels), classes).float()

    def forward(self, levels: Tensor) -> Tensor:
        return self.scores[(levels.flatten(1) * self.places).sum(1)]


def smoothed(model: Lookup, noise: Discrete, x: tuple[int, ...]) -> list[Fraction]:
    """The exact probability of each class under noise at x."""
    shares = [Fraction(0)] * (max(model.labels) + 1)
    for point, label in zip(model.space, model.labels, strict=True):
        stayed = sum(a == b for a, b in zip(point, x, strict=True))
        shares[label] += noise.alpha**stayed * noise.beta ** (len(x) - stayed)
    return shares


class Counting(nn.Module):
    """Scores that are whole numbers, so that they do not depend on the order of additions, nor on batches."""

    def __init__(self, d: int, classes: int, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weights = torch.randint(-9, 10, (d, classes), generator=generator).double()
        self.calls: list[int] = []

    def forward(self, levels: Tensor) -> Tensor:
        self.calls.append(len(levels))
        return levels.flatten(1).double() @ self.weights
