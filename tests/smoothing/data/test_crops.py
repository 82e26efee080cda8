"""Crops of images: the middle to the pixel, random boxes with the distribution that training on ImageNet has."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image

from ellzero.smoothing.data.crops import crop_centre, crop_randomly, draw_box

SIDES = st.integers(1, 700)


def random_image(width: int, height: int, seed: int = 0) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


@pytest.mark.parametrize(
    ("image_size", "resized", "corner"),
    [
        ((500, 375), (341, 256), (58, 16)),  # 58.5 rounds to the even number, 256·500/375 = 341.3
        ((375, 500), (256, 341), (16, 58)),
        ((500, 333), (384, 256), (80, 16)),
        ((300, 300), (256, 256), (16, 16)),
        ((1000, 100), (2560, 256), (1168, 16)),
        ((260, 256), (260, 256), (18, 16)),
        ((259, 256), (259, 256), (18, 16)),  # 17.5 rounds to 18
    ],
)
def test_the_middle_of_an_image_is_that_of_the_papers_pipeline(
    image_size: tuple[int, int], resized: tuple[int, int], corner: tuple[int, int]
) -> None:
    image = random_image(*image_size)
    expected = np.asarray(image.resize(resized, Image.Resampling.BILINEAR))
    left, top = corner
    assert np.array_equal(np.asarray(crop_centre(image, 224)), expected[top : top + 224, left : left + 224])


@given(SIDES, SIDES, st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_the_middle_has_the_size_asked_for(width: int, height: int, size: int) -> None:
    assert crop_centre(Image.new("RGB", (width, height)), size).size == (size, size)


@given(SIDES, SIDES, st.integers(0, 2**32))
def test_a_box_lies_in_the_image_and_is_not_empty(width: int, height: int, seed: int) -> None:
    left, top, right, bottom = draw_box(width, height, np.random.default_rng(seed))
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height


def test_boxes_have_all_areas_and_shapes_alike() -> None:
    """Of a large square nearly every box fits, so that rejection changes little but at the largest areas."""
    generator = np.random.default_rng(0)
    side = 1_000
    boxes = [draw_box(side, side, generator) for _ in range(20_000)]
    areas = np.array([(right - left) * (bottom - top) / side**2 for left, top, right, bottom in boxes])
    shapes = np.array([math.log((right - left) / (bottom - top)) for left, top, right, bottom in boxes])
    assert areas.min() >= 0.08 - 0.001
    assert abs(shapes).max() <= math.log(4 / 3) + 0.01
    below = areas < 0.7  # a box of 4:3 fits up to 0.75 of a square
    counts, _ = np.histogram(areas[below], 10, (0.08, 0.7))
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()
    counts, _ = np.histogram(shapes[below], 8, (-math.log(4 / 3), math.log(4 / 3)))
    assert counts.min() > 0.9 * counts.mean()
    assert counts.max() < 1.1 * counts.mean()
    small = [(left, right) for (left, _, right, _), area in zip(boxes, areas, strict=True) if area < 0.3]
    places = np.array([left / (side - (right - left)) for left, right in small])
    counts, _ = np.histogram(places, 5, (0, 1.0001))
    assert counts.min() > 0.9 * counts.mean()


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((1_000, 10), (493, 0, 506, 10)),  # 13×10 is the widest of height 10
        ((10, 1_000), (0, 493, 10, 506)),
        ((1, 1), (0, 0, 1, 1)),
    ],
)
def test_where_no_box_fits_it_is_the_largest_in_the_middle(
    size: tuple[int, int], box: tuple[int, int, int, int]
) -> None:
    """In so narrow an image a box of 8 % of the area is at least 28 high, so all ten tries fail."""
    assert all(draw_box(*size, np.random.default_rng(seed)) == box for seed in range(5))


def test_a_random_crop_is_its_box_scaled_and_mirrored_half_of_the_time() -> None:
    image = random_image(120, 90)
    seen: Counter[bool] = Counter()
    for seed in range(200):
        box = draw_box(*image.size, np.random.default_rng(seed))
        plain = np.asarray(image.crop(box).resize((16, 16), Image.Resampling.BILINEAR))
        crop = np.asarray(crop_randomly(image, 16, np.random.default_rng(seed)))
        mirrored = np.array_equal(crop, plain[:, ::-1])
        assert mirrored or np.array_equal(crop, plain)
        seen[mirrored] += 1
    assert 70 < seen[True] < 130
