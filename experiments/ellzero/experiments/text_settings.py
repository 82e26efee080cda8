"""What the experiment on sentences trains and certifies."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_shortest

LEAST_SHOWN: Final = 2
"""The fewest tokens that masking a fixed share leaves, as the public code of RanMASK has it."""


@dataclass(frozen=True)
class TextSettings:
    """What is trained and certified. All but ``sentences`` decide what results belong together: with more sentences a
    run goes on.

    ``words`` is the size of the vocabulary, ``masks`` and ``alphas`` are the levels of noise to choose from: the
    probabilities that a token is hidden, and that it stays.
    """

    words: int = 8_000
    masks: tuple[str, ...] = ("0.6", "0.7", "0.8", "0.85", "0.9")
    alphas: tuple[str, ...] = ("0.4", "0.3", "0.2", "0.1")
    epochs: int = 15
    batch: int = 64
    rate: float = 0.003
    n: int = 10_000
    tuning_n: int = 1_000
    tuning_sentences: int = 200
    sentences: int = 2_000
    seed: int = 0

    def describe(self) -> dict[str, Any]:
        """What must be the same for results to belong together."""
        return {name: value for name, value in asdict(self).items() if name != "sentences"}


def read_noise_levels(texts: Iterable[str], field: str) -> tuple[str, ...]:
    """Probabilities as they were written, each once. Raises unless all are different numbers between 0 and 1."""
    allowed = "different numbers between 0 and 1, such as 0.7,0.8"
    levels = tuple(text.strip() for text in texts)
    numbers = [read_shortest(level, field, allowed) for level in levels]
    if len(set(numbers)) < len(numbers) or not all(0 < number < 1 for number in numbers):
        raise InvalidInput(field, allowed, ",".join(levels))
    return levels


QUICK: Final = TextSettings(
    words=40, masks=("0.7", "0.8"), alphas=("0.3",), epochs=4, n=500, tuning_n=200, tuning_sentences=20, sentences=20
)
"""A check that all works, on made-up sentences."""
