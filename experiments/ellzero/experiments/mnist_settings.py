"""What the experiment on MNIST trains and certifies."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Final

from ellzero.certificates import sigma_for_alpha
from ellzero.core.conventions import DEFAULT_N
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_shortest
from ellzero.experiments.adversary_search import SearchSettings
from ellzero.experiments.published import MNIST_ALPHAS
from ellzero.smoothing.data.loading import DIGITS
from ellzero.smoothing.training import Recipe


@dataclass(frozen=True)
class MnistSettings:
    """What is trained and certified. All but ``alphas``, ``images``, ``searched`` and ``grey_images`` decide what
    results belong together: with more images a run goes on, and with other α it keeps the networks that it has.

    ``uri`` is a folder with MNIST's four files, or ``digits``; ``threshold`` the level from which a pixel counts as 1.
    """

    uri: str
    threshold: int = 128
    alphas: tuple[str, ...] = MNIST_ALPHAS
    architecture: str = "paper-cnn"
    recipe: Recipe = field(default_factory=Recipe)
    n: int = DEFAULT_N
    tuning_images: int = 128
    images: int = 1_000
    grey_images: int = 250
    searched: int = 100
    search: SearchSettings = field(default_factory=SearchSettings)
    seed: int = 0


def read_alphas(texts: Iterable[str]) -> tuple[str, ...]:
    """Each α once, in its shortest decimal form, which names its network. Raises unless all are decimals above 1/2."""
    allowed = "different decimals between 0.5 and 1, such as 0.72,0.8"
    texts = [text.strip() for text in texts]
    alphas = []
    for text in texts:
        alpha = read_shortest(text, "alpha", allowed)
        decimal = Decimal(alpha.numerator) / alpha.denominator
        if Fraction(decimal) != alpha:
            raise InvalidInput("alpha", allowed, text)
        sigma_for_alpha(alpha)  # raises if there is no Gaussian noise to compare with
        alphas.append(f"{decimal.normalize():f}")
    if len(set(alphas)) < len(alphas):
        raise InvalidInput("alpha", allowed, ",".join(texts))
    return tuple(alphas)


QUICK: Final = MnistSettings(
    DIGITS,
    threshold=8,
    alphas=("0.8", "0.9"),
    architecture="mlp",
    recipe=Recipe(epochs=12, decay_every=4),
    n=2_000,
    tuning_images=32,
    images=32,
    grey_images=16,
    searched=4,
    search=SearchSettings(harmful=6, random_pairs=10),
)
"""A check that all works, on scikit-learn's digits."""
