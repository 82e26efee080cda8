"""The figure of noisy images: each panel is a sample of its noise."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ellzero.core.errors import InvalidInput
from ellzero.experiments.imagenet_figure import draw_noisy, plot_noisy_images
from ellzero.smoothing import DiscreteNoise, GaussianNoise
from ellzero.smoothing.noise.base import NoiseFamily

IMAGE = np.random.default_rng(0).integers(0, 256, (3, 40, 50)).astype(np.uint8)


def test_a_coordinate_stays_with_probability_alpha_and_takes_any_value_otherwise() -> None:
    noisy = draw_noisy(IMAGE, DiscreteNoise(255, "0.3"), 1)
    assert (noisy.shape, str(noisy.dtype)) == ((40, 50, 3), "uint8")
    same = noisy == IMAGE.transpose(1, 2, 0)
    assert 0.27 < same.mean() < 0.33  # ± 5 standard deviations of 6,000 coordinates
    assert len(np.unique(noisy[~same])) > 250


def test_gaussian_noise_has_its_deviation_and_ends_at_black_and_white() -> None:
    grey = np.full((3, 60, 60), 128, np.uint8)
    noisy = draw_noisy(grey, GaussianNoise("0.1"), 1).astype(float) / 255
    assert abs(noisy.mean() - 128 / 255) < 0.005
    assert abs(noisy.std() - 0.1) < 0.005
    wide = draw_noisy(grey, GaussianNoise("5"), 1)
    assert 0.4 < (wide == 0).mean() < 0.5
    assert 0.4 < (wide == 255).mean() < 0.5


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_figure_has_a_panel_for_the_image_and_each_noise(tmp_path: Path, count: int) -> None:
    noises: dict[str, NoiseFamily] = {f"α = 0.{number}": DiscreteNoise(255, f"0.{number}") for number in range(1, 4)}
    out = tmp_path / "figure.png"
    plot_noisy_images(IMAGE, dict(list(noises.items())[:count]), 1, out)
    with Image.open(out) as drawn:
        opaque = np.asarray(drawn.convert("RGBA"))[..., 3] == 255
    # Three panels of 50×40 pixels share the width; all else is transparent but for the titles.
    panel = (opaque.shape[1] / 3) ** 2 * 40 / 50
    assert 0.85 * (count + 1) < opaque.sum() / panel < count + 1


def test_a_figure_in_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="plot must be a file name that ends in"):
        plot_noisy_images(IMAGE, {}, 1, tmp_path / "figure.gif")
