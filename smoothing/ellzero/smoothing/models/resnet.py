"""Residual networks of bottleneck blocks for images; ResNet-50 with the default settings.

He, Zhang, Ren and Sun: Deep residual learning for image recognition, https://arxiv.org/abs/1512.03385. As in most of
today's weights, the 3×3 convolution of a block has its stride, and not the 1×1 convolution before it. Names and shapes
of all parameters are those of torchvision's ``resnet50``, so its weights can be loaded, and ours by it.
"""

from collections.abc import Sequence

from torch import Tensor, nn

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer

_EXPANSION = 4
RESNET50_LAYERS = (3, 4, 6, 3)
RESNET50_WIDTH = 64


class Bottleneck(nn.Module):
    """x + F(x): F has convolutions of 1×1, 3×3 and 1×1, and the block returns four times ``width`` channels.

    Where F changes the shape, x passes through a convolution of 1×1 instead of being added as it is.
    """

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = width * _EXPANSION
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.downsample: nn.Module | None = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        residual = nn.functional.relu(self.bn1(self.conv1(x)), inplace=True)
        residual = nn.functional.relu(self.bn2(self.conv2(residual)), inplace=True)
        residual = self.bn3(self.conv3(residual))
        shortcut = x if self.downsample is None else self.downsample(x)
        return nn.functional.relu(residual + shortcut, inplace=True)


class ResNet(nn.Module):
    """Scores of images (samples, 3, height, width), whose sides have at least 32 pixels.

    A convolution of 7×7 and a pool, then four layers of ``layers`` blocks: the first has ``width`` channels inside its
    blocks, and each other one twice as many as the one before at half the resolution. The scores are linear in the mean
    over all places.
    """

    def __init__(self, num_classes: int, layers: Sequence[int] = RESNET50_LAYERS, width: int = RESNET50_WIDTH) -> None:
        super().__init__()
        if isinstance(layers, str) or not isinstance(layers, Sequence) or len(layers) != 4:
            raise InvalidInput("layers", "four numbers of blocks, such as [3, 4, 6, 3]", layers)
        depths = [read_integer(depth, "layers", 1, 1_000) for depth in layers]
        channels = read_integer(width, "width", 1, 2**20)
        self.conv1 = nn.Conv2d(3, channels, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = _make_layer(channels, width, depths[0], 1)
        self.layer2 = _make_layer(width * _EXPANSION, width * 2, depths[1], 2)
        self.layer3 = _make_layer(width * 2 * _EXPANSION, width * 4, depths[2], 2)
        self.layer4 = _make_layer(width * 4 * _EXPANSION, width * 8, depths[3], 2)
        self.fc = nn.Linear(width * 8 * _EXPANSION, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.maxpool(nn.functional.relu(self.bn1(self.conv1(x)), inplace=True))
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            features = layer(features)
        scores: Tensor = self.fc(features.mean((2, 3)))
        return scores


def _make_layer(channels: int, width: int, depth: int, stride: int) -> nn.Sequential:
    """The first block changes the number of channels and the resolution; all others keep both."""
    first = Bottleneck(channels, width, stride)
    return nn.Sequential(first, *(Bottleneck(width * _EXPANSION, width, 1) for _ in range(depth - 1)))
