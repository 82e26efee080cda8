"""What the experiment beyond the paper trains and certifies on MNIST."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from ellzero.core.conventions import DEFAULT_N
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer
from ellzero.experiments.published import ABLATION_MNIST_KEEP, ABLATION_MNIST_N
from ellzero.smoothing.data.loading import DIGITS
from ellzero.smoothing.training import Recipe, Schedule

BEYOND_EPOCHS: Final = 20
"""Of our networks: fewer than the paper's, which are more expensive too."""


class BeyondRow(StrEnum):
    """A row of the experiment: images, pixels shown, network and votes.

    *mean*, *median*: binarised images, as many pixels shown as gave the largest mean or median radius on validation
    images. *paper-network*: as *mean*, with the paper's network and recipe. *ablation*: grey images by the protocol of
    randomized ablation: its number of pixels shown, its number of votes, and the certificate of one class. *grey*: grey
    images and as many votes, pixels shown as for *median*, and the certificate of two classes, as all but *ablation*.
    *grey-more-votes*: the same with as many votes as for binarised images.
    """

    MEAN = "mean"
    MEDIAN = "median"
    PAPER_NETWORK = "paper-network"
    ABLATION = "ablation"
    GREY = "grey"
    GREY_MORE_VOTES = "grey-more-votes"


def _make_recipe(epochs: int) -> Recipe:
    return Recipe(epochs=epochs, rate=0.2, schedule=Schedule.COSINE.value)


@dataclass(frozen=True)
class BeyondSettings:
    """What is trained and certified. All but ``keeps``, ``rows`` and ``images`` decide what results belong together:
    with more of these a run goes on.

    ``keeps`` are the numbers of pixels shown to choose from; ``ablation_keep`` and ``ablation_n`` those of randomized
    ablation, and the votes of rows of grey images.
    """

    uri: str
    threshold: int = 128
    keeps: tuple[int, ...] = (15, 30)
    architecture: str = "masked-cnn"
    recipe: Recipe = field(default_factory=lambda: _make_recipe(BEYOND_EPOCHS))
    paper_architecture: str = "masked-paper-cnn"
    paper_recipe: Recipe = field(default_factory=Recipe)
    n: int = DEFAULT_N
    tuning_n: int = 2_000
    tuning_images: int = 400
    ablation_keep: int = ABLATION_MNIST_KEEP
    ablation_n: int = ABLATION_MNIST_N
    rows: tuple[BeyondRow, ...] = tuple(BeyondRow)
    images: int = 1_000
    seed: int = 0

    def __post_init__(self) -> None:
        for keep in self.keeps:
            read_integer(keep, "keep", 1)


def read_rows(texts: Iterable[str]) -> tuple[BeyondRow, ...]:
    """Rows by name, each once and in the order of the table."""
    texts = [text.strip() for text in texts]
    for text in texts:
        if text not in list(BeyondRow):
            raise InvalidInput("rows", f"some of {', '.join(BeyondRow)}", text)
    return tuple(row for row in BeyondRow if row in texts)


QUICK: Final = BeyondSettings(
    DIGITS,
    threshold=8,
    keeps=(8, 16),
    recipe=_make_recipe(12),
    paper_recipe=Recipe(epochs=12, decay_every=4),
    n=2_000,
    tuning_n=200,
    tuning_images=32,
    ablation_keep=16,
    ablation_n=1_000,
    images=32,
)
"""A check that all works, on scikit-learn's digits."""
