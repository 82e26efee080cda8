"""``ellzero plot``: figures in three formats."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Ellzero, check_mistake
from matplotlib.axes import Axes

from ellzero.certificates import Sparse, certified
from ellzero.certificates.plots import plot_budgets


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_written(ellzero: Ellzero, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"figure.{suffix}"
    run = ellzero(f"plot thresholds --k 255 --alpha 0.1,0.2,1/256 --r-max 12 --out {out}")
    assert (run.code, run.out) == (0, f"{out}\n")
    assert out.read_bytes().startswith(start)


def test_budgets_of_other_families_are_drawn(ellzero: Ellzero, tmp_path: Path) -> None:
    for line in (
        "--family mask --m 0.9 --limits 12",
        "--family sparse --p-add 0.01 --p-del 0.6 --limits add=4,delete=9 --p 0.6,0.99,0.5",
        "--family ablation --d 20 --keep 3 --limits 9 --p 0.9",
    ):
        out = tmp_path / "budgets.svg"
        run = ellzero(f"plot budgets {line} --out {out}")
        assert (run.code, run.out) == (0, f"{out}\n"), run.err
    assert "p = 0.9" in out.read_text()


def test_the_edge_that_is_drawn_is_that_of_the_certified_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[list[float], list[float]]] = []
    original = Axes.plot

    def record(axes: Axes, x: list[float], y: list[float], **style: Any) -> Any:
        drawn.append((list(x), list(y)))
        return original(axes, x, y, **style)

    monkeypatch.setattr(Axes, "plot", record)
    family = Sparse("0.01", "0.6")
    plot_budgets(family, {"add": 5, "delete": 20}, ["0.95", "0.5"], tmp_path / "x.svg")
    assert certified(family, "0.95", {"add": 5, "delete": 20}) == ({"add": 0, "delete": 4}, {"add": 1, "delete": 2})
    (edge, empty) = drawn
    assert edge == ([-0.5, -0.5, 0.5, 0.5, 1.5, 1.5], [-0.5, 4.5, 4.5, 2.5, 2.5, -0.5])
    assert empty == ([-0.5, -0.5], [-0.5, -0.5])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plot budgets --family mask --m 0.5 --limits 0", "--limits must be above 0 for one or two kinds of change"),
        ("plot budgets --family mask --m 0.5 --limits 1001", "--limits must be at most 1,000 of each kind of change"),
        ("plot budgets --family mask --m 0.5 --limits 3 --p 2", "--p must be a number from 0 to 1; got '2'"),
        ("plot budgets --family mask --m 0.5", "Missing option '--limits'"),
        ("plot thresholds --k 1 --alpha 0.8 --out /proc/x.svg", "--out must be a file that can be written"),
        ("plot thresholds --k 1 --alpha 0.8 --out x.bmp", "--out must be a file name that ends in .png, .svg, .pdf"),
        ("plot thresholds --k 1 --alpha 0.8 --out /nowhere/x.png", "--out must be in a folder that exists"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)
