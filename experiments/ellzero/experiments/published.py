"""The figures that the paper reports, to stand beside ours.

G.-H. Lee, Y. Yuan, S. Chang, T. Jaakkola: *Tight Certificates of Adversarial Robustness for Randomly Smoothed
Classifiers*, NeurIPS 2019, https://arxiv.org/abs/1906.04948. And of another paper, for comparison beyond: A. Levine,
S. Feizi: *Robustness Certificates for Sparse Adversarial Attacks by Randomized Ablation*, AAAI 2020.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

CITATION: Final = (
    "Lee, Yuan, Chang, Jaakkola: Tight Certificates of Adversarial Robustness for Randomly Smoothed Classifiers, "
    "NeurIPS 2019"
)

NoiseKind = Literal["discrete", "gaussian"]


@dataclass(frozen=True)
class PublishedRow:
    """A row of a table of the paper: the noise of the classifier, the certificate, and ACC@r by r."""

    noise: NoiseKind
    certificate: NoiseKind
    accuracy: Mapping[int, float]
    mean_radius: float | None = None


def _by_radius(first: int, *shares: float) -> Mapping[int, float]:
    return dict(enumerate(shares, first))


MNIST: Final = (
    PublishedRow("discrete", "discrete", _by_radius(1, 0.921, 0.774, 0.539, 0.524, 0.357, 0.202, 0.097), 3.456),
    PublishedRow("discrete", "gaussian", _by_radius(1, 0.830, 0.557, 0.272, 0.119, 0.021, 0.0, 0.0), 1.799),
    PublishedRow("gaussian", "gaussian", _by_radius(1, 0.884, 0.701, 0.464, 0.252, 0.078, 0.0, 0.0), 2.378),
)
"""Table 1: binarised MNIST, 10,000 test images, n = 100,000, 99.9 %."""

MNIST_DIGESTS: Final = (
    "20a9e86b878aba286a246d0c813205ca8641bd7d606edd155b6312c9c863cb23",
    "26babfb86a0f2159e38b9e2dbd435d3709f8e691518efe44e1a982d501b965c8",
)
"""SHA-256 of the 60,000 training and the 10,000 test images, binarised from level 128 on: what Table 1 is about."""

MNIST_ALPHAS: Final = ("0.72", "0.76", "0.80", "0.84", "0.88", "0.92", "0.96")
MNIST_BEST_ALPHA: Final = "0.80"
"""The α that the paper chose on its validation set, by the Gaussian certificate."""

MNIST_EXHAUSTIVE: Final = _by_radius(1, 0.954, 0.926)
"""Accuracy under exhaustive search over all adversaries, for the model of the first row of Table 1."""

IMAGENET: Final = (
    PublishedRow("discrete", "discrete", _by_radius(1, 0.538, 0.394, 0.338, 0.274, 0.234, 0.190, 0.176)),
    PublishedRow("gaussian", "gaussian", _by_radius(1, 0.372, 0.292, 0.226, 0.194, 0.170, 0.154, 0.138)),
)
"""ImageNet, every 100th validation image, the best α for each r."""

IMAGENET_ALPHAS: Final = ("0.1", "0.2", "0.3", "0.4", "0.5")

IMAGENET_BY_ALPHA: Final[Mapping[str, Mapping[int, float]]] = {
    "0.5": _by_radius(0, 0.666, 0.412, 0.388, 0.0, 0.0, 0.0, 0.0, 0.0),
    "0.4": _by_radius(0, 0.650, 0.538, 0.356, 0.338, 0.0, 0.0, 0.0, 0.0),
    "0.3": _by_radius(0, 0.592, 0.516, 0.314, 0.300, 0.274, 0.234, 0.0, 0.0),
    "0.2": _by_radius(0, 0.524, 0.448, 0.394, 0.270, 0.218, 0.212, 0.190, 0.176),
    "0.1": _by_radius(0, 0.350, 0.314, 0.282, 0.248, 0.212, 0.182, 0.150, 0.100),
}
"""ImageNet with discrete noise and the discrete certificate, for each α."""

MNIST_D: Final = 784
IMAGENET_D: Final = 150_528
"""Coordinates of an image of 224 × 224 pixels with three channels."""

MNIST_K: Final = 1
IMAGENET_K: Final = 255

DAYS_A_CELL: Final = 4
"""What the paper says that one (d, K, α, r) took its algorithm at ImageNet size."""

BACE_GAPS: Final[Mapping[int, float]] = {1: 0.358, 2: 0.402}
"""The mean gap between the exact certificate of the tree and that for all classifiers, over the training set, by r."""

ABLATION_MNIST_MEDIAN: Final = 8
"""Randomized ablation on MNIST in grey levels: the median certified radius, in pixels."""
ABLATION_MNIST_KEEP: Final = 45
"""How many of the 784 pixels it shows."""
ABLATION_MNIST_N: Final = 10_000
"""How many votes it takes."""
