"""The style of figures: contrast by the formula of WCAG 2, colours as people without one kind of cones see them."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.core.plotting import COLORS, INK, draw_figure, line_style, style_axes

Floats = NDArray[np.float64]

WHITE, BLACK = "#ffffff", "#000000"
DARK_PAGE = "#0d1117"  # a usual background of pages in the dark
# G. M. Machado, M. M. Oliveira, L. A. F. Fernandes (2009), severity 1, for linear RGB.
VISION = {
    "all cones": np.eye(3),
    "without L cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "without M cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "without S cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(color: str) -> Floats:
    """Linear RGB of a colour such as #0d1117."""
    channels = np.array([int(color[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(TO_XYZ[1] @ linear(color)) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


def cielab(rgb: Floats) -> Floats:
    xyz = TO_XYZ @ rgb / TO_XYZ.sum(axis=1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_contrast_formula_is_that_of_wcag() -> None:
    assert contrast(WHITE, BLACK) == pytest.approx(21)
    assert contrast("#777777", WHITE) == pytest.approx(4.48, abs=0.005)


def test_text_is_readable_on_white_and_on_black() -> None:
    assert min(contrast(INK, WHITE), contrast(INK, BLACK)) >= 4.5
    # No grey has more than 4.35 with both white and this one.
    assert contrast(INK, DARK_PAGE) >= 4.1


@pytest.mark.parametrize("color", COLORS)
@pytest.mark.parametrize("background", [WHITE, BLACK, DARK_PAGE])
def test_lines_show_on_any_background(color: str, background: str) -> None:
    assert contrast(color, background) >= 3


@pytest.mark.parametrize("vision", VISION)
def test_colours_are_apart_for_the_colour_blind_too(vision: str) -> None:
    seen = [cielab(np.clip(np.array(VISION[vision]) @ linear(color), 0, 1)) for color in COLORS]
    assert min(float(np.linalg.norm(one - other)) for one, other in combinations(seen, 2)) >= 20


def test_neighbouring_lines_differ_in_colour_dash_and_marker() -> None:
    styles = [line_style(number) for number in range(210)]
    for name in ("color", "linestyle", "marker"):
        assert all(one[name] != other[name] for one, other in pairwise(styles)), name
    assert len({(style["color"], str(style["linestyle"]), style["marker"]) for style in styles}) == 210
    assert "marker" not in line_style(3, markers=False)


def draw(out: Path) -> bytes:
    with draw_figure(out, (4, 3)) as figure:
        axes = figure.subplots()
        axes.plot([0, 1, 2], [0.5, 0.75, 1], label="some words", **line_style(1))
        style_axes(axes, integer_x=True)
        axes.legend()
    return out.read_bytes()


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_same_figure_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    assert draw(tmp_path / f"one.{suffix}") == draw(tmp_path / f"two.{suffix}")


def test_an_svg_has_text_that_can_be_searched_and_no_background(tmp_path: Path) -> None:
    svg = draw(tmp_path / "figure.svg").decode()
    assert ">some words</text>" in svg
    assert INK in svg
    assert not re.search(r"fill: (white|#ffffff)", svg)


@pytest.mark.parametrize(
    ("name", "allowed"),
    [("figure.bmp", "a file name that ends in .png, .svg, .pdf"), ("nowhere/figure.svg", "in a folder that exists")],
)
def test_a_bad_file_name_is_refused_before_anything_is_drawn(tmp_path: Path, name: str, allowed: str) -> None:
    with pytest.raises(InvalidInput, match=f"out must be {allowed}"), draw_figure(tmp_path / name, (4, 3), "out"):
        pytest.fail("was drawn")


def test_a_figure_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "figure.svg").mkdir()
    with pytest.raises(InvalidInput, match="plot must be a file that can be written"):
        draw(tmp_path / "figure.svg")


def test_nothing_is_written_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), draw_figure(tmp_path / "figure.svg", (4, 3)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
