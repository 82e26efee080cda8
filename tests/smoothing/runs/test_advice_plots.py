"""Figures of advice."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ellzero.certificates import InvalidInput
from ellzero.smoothing import Advice, CertifySettings, DiscreteNoise
from ellzero.smoothing.advice import NoiseAdvice
from ellzero.smoothing.forecast import make_forecast
from ellzero.smoothing.runs.advice_plots import plot_advice
from ellzero.smoothing.sampling.radius_steps import list_least_counts


def make_advice(*alphas: str, n: int = 1_000) -> Advice:
    settings = CertifySettings.of(100, n, "0.001", 0, "staged")
    counts = tuple((votes, 100 - votes) for votes in range(55, 101, 5))
    options = []
    for alpha in alphas:
        noise = DiscreteNoise(1, alpha)
        least = list_least_counts(noise, 20, settings)
        expected = make_forecast(counts, [0] * len(counts), [least] * len(counts), 100, n)
        options.append(NoiseAdvice(noise, expected, 1e-6, (20,) * len(counts), counts))
    return Advice(tuple(options), settings, 100, (0,) * len(counts))


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_expected_radii_are_drawn(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"advice.{suffix}"
    plot_advice(make_advice("0.6", "0.7", "0.8", "0.9"), None, out)
    assert out.stat().st_size > 5_000


def test_a_figure_says_that_nothing_is_certified(tmp_path: Path) -> None:
    plot_advice(make_advice("0.7", "0.9"), 2, tmp_path / "advice.svg")
    text = (tmp_path / "advice.svg").read_text()
    assert "Expected for n = 1,000, not certified: 100 votes on 10 inputs; bands of 95 %" in text
    assert "α, from most noise to least" in text
    assert "r = 2" in text


@pytest.mark.parametrize(("alphas", "n"), [(("0.9",), 1_000), (("0.6", "0.9"), 3)])
def test_one_amount_and_nothing_expected_are_drawn_too(tmp_path: Path, alphas: tuple[str, ...], n: int) -> None:
    plot_advice(make_advice(*alphas, n=n), None, tmp_path / "advice.png")
    pixels = np.asarray(Image.open(tmp_path / "advice.png"))
    assert (pixels[..., 3] > 0).sum() > 5_000


def test_a_figure_that_cannot_be_drawn_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="plot must be a file name that ends in"):
        plot_advice(make_advice("0.9"), None, tmp_path / "advice.doc")
