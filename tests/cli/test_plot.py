"""``ellzero plot``: figures in three formats."""

import html
import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Ellzero, check_mistake
from matplotlib.axes import Axes

from ellzero.certificates import Hierarchical, Mask, Sparse, certified
from ellzero.certificates.plots import plot_budgets


def record_lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[float], list[float]]]:
    """The coordinates of all lines that are drawn from now on."""
    drawn: list[tuple[list[float], list[float]]] = []
    original = Axes.plot

    def record(axes: Axes, x: list[float], y: list[float], **style: Any) -> Any:
        drawn.append((list(x), list(y)))
        return original(axes, x, y, **style)

    monkeypatch.setattr(Axes, "plot", record)
    return drawn


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_written(ellzero: Ellzero, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"figure.{suffix}"
    run = ellzero(f"plot thresholds --k 255 --alpha 0.1,0.2,1/256 --r-max 12 --out {out}")
    assert (run.code, run.out) == (0, f"{out}\n")
    assert out.read_bytes().startswith(start)


def test_a_list_of_values_is_a_line_for_each_and_the_title_has_what_they_share(
    ellzero: Ellzero, tmp_path: Path
) -> None:
    out, composed = tmp_path / "thresholds.svg", tmp_path / "struck.json"
    composed.write_text(json.dumps(Hierarchical(Mask("0.9"), "0.95").describe()))
    for line, texts in {
        "--k 255 --alpha 0.1,1/3": ["(K = 255)", "probability of staying", "α = 0.1", "α = 1/3"],
        "--k 1,255 --alpha 0.1,1/3": ["K = 1, α = 0.1", "K = 1, α = 1/3", "K = 255, α = 0.1", "K = 255, α = 1/3"],
        "--family mask --m 0.9,0.90,0.95": ["(mask)", "m = 0.9", "m = 0.95"],
        "--family ablation --d 9 --keep 2,3": ["(ablation, d = 9)", "coordinates shown", "keep = 2", "keep = 3"],
        "--family deletion --m 0.9": ["(deletion)", "edits, ≤ r", "m = 0.9"],
        f"--family {composed}": ["(hierarchical, base = Mask(m='9/10'))", "s = 0.95"],
        "--family mask,deletion --m 0.9": ["radius r<", "changes, ≤ r", "Mask(m='9/10')", "Deletion(m='9/10')"],
    }.items():
        run = ellzero(f"plot thresholds {line} --r-max 12 --out {out}")
        assert (run.code, run.out) == (0, f"{out}\n"), run.err
        drawn = html.unescape(out.read_text())
        assert [text for text in texts if text not in drawn] == [], line


def test_thresholds_are_drawn_as_far_as_so_many_changes_are_possible(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = record_lines(monkeypatch)
    assert ellzero(f"plot thresholds --family ablation --d 5 --keep 1,2 --out {tmp_path / 'x.svg'}").code == 0
    lines = {tuple(y) for x, y in drawn if x == [0, 1, 2, 3, 4, 5]}
    # As drawn against r and, from one, on a logarithmic axis. C(5−r, keep)/C(5, keep) for keep = 1 and 2.
    assert (0.5, 0.7, 0.9, 1, 1, 1) in lines
    assert (0.5, 0.9, 1, 1, 1, 1) in lines


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
    drawn = record_lines(monkeypatch)
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
        ("plot thresholds --alpha 0.8", "Missing option '--k'. The noise discrete has --k and --alpha."),
        ("plot thresholds --k 1,x --alpha 0.8", "Invalid value for '--k': 'x' is not a valid integer"),
        ("plot thresholds --k 1 --alpha 0.8,", "--alpha must be a rational number strictly between 0 and 1"),
        (
            "plot thresholds --k 1 --alpha 0.8 --r-max 1000001",
            "Invalid value for '--r-max': 1000001 is not in the range 0<=x<=1000000",
        ),
        (
            "plot thresholds --family sparse --p-add 0.1 --p-del 0.2",
            "Sparse(p_add='1/10', p_del='1/5') has several kinds of change, which `plot budgets` draws",
        ),
        ("plot thresholds --k 1 --alpha 0.8 --out /proc/x.svg", "--out must be a file that can be written"),
        ("plot thresholds --k 1 --alpha 0.8 --out x.bmp", "--out must be a file name that ends in .png, .svg, .pdf"),
        ("plot thresholds --k 1 --alpha 0.8 --out /nowhere/x.png", "--out must be in a folder that exists"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)
