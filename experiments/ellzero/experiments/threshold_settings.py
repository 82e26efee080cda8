"""The thresholds that the paper's experiments need."""

from dataclasses import dataclass
from typing import Final

from ellzero.certificates import Discrete
from ellzero.experiments.published import IMAGENET_ALPHAS, IMAGENET_D, IMAGENET_K, MNIST_ALPHAS, MNIST_D, MNIST_K


@dataclass(frozen=True)
class PublishedSetting:
    """Thresholds that the paper's experiments need: those of all α and radii."""

    data: str
    d: int
    k: int
    alphas: tuple[str, ...]
    radii: tuple[int, ...]

    def noises(self) -> dict[str, Discrete]:
        """The noise of each α, by α as it is published."""
        return {alpha: Discrete(self.k, alpha) for alpha in self.alphas}


SETTINGS: Final = (
    PublishedSetting("MNIST", MNIST_D, MNIST_K, MNIST_ALPHAS, tuple(range(21))),
    PublishedSetting("ImageNet", IMAGENET_D, IMAGENET_K, IMAGENET_ALPHAS, tuple(range(8))),
)
