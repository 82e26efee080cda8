"""Square images cut out of images of any shape, as the paper's experiments on ImageNet cut them.

Both crops are those of torchvision, to the pixel for the same box: `crop_centre` is ``Resize`` and ``CenterCrop``,
`crop_randomly` is ``RandomResizedCrop`` and ``RandomHorizontalFlip``.
"""

import math

import numpy as np
from PIL import Image

# The shorter side is scaled to 256 before the middle 224×224 is cut out.
_BORDER = 256 / 224
_SMALLEST_SHARE = 0.08
_WIDEST = 4 / 3
_TRIES = 10

Box = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def crop_centre(image: Image.Image, size: int) -> Image.Image:
    """The middle of an image whose shorter side is scaled to 8/7 of ``size``."""
    short = round(size * _BORDER)
    width, height = (max(size, side * short // min(image.size)) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = round((width - size) / 2), round((height - size) / 2)
    return image.crop((left, top, left + size, top + size))


def crop_randomly(image: Image.Image, size: int, generator: np.random.Generator) -> Image.Image:
    """A `draw_box` of an image, scaled to ``size``, and mirrored with probability 1/2."""
    box = draw_box(*image.size, generator)
    image = image.crop(box).resize((size, size), Image.Resampling.BILINEAR)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if generator.random() < 0.5 else image


def draw_box(width: int, height: int, generator: np.random.Generator) -> Box:
    """A box of 8 to 100 % of an image's area, uniformly, and of a shape from 3:4 to 4:3, uniformly in its logarithm.

    Its place is uniform. If ten such boxes do not fit, it is the largest one in the middle whose shape is allowed.
    """
    for _ in range(_TRIES):
        area = width * height * generator.uniform(_SMALLEST_SHARE, 1)
        shape = math.exp(generator.uniform(-math.log(_WIDEST), math.log(_WIDEST)))
        across, down = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
        if 0 < across <= width and 0 < down <= height:
            left, top = int(generator.integers(width - across + 1)), int(generator.integers(height - down + 1))
            return left, top, left + across, top + down
    across, down = min(width, round(height * _WIDEST)), min(height, round(width * _WIDEST))
    left, top = (width - across) // 2, (height - down) // 2
    return left, top, left + across, top + down
