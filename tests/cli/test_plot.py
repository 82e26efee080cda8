"""``ellzero plot``: figures in three formats."""

from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_written(ellzero: Ellzero, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"figure.{suffix}"
    run = ellzero(f"plot thresholds --k 255 --alpha 0.1,0.2,1/256 --r-max 12 --out {out}")
    assert (run.code, run.out) == (0, f"{out}\n")
    assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plot thresholds --k 1 --alpha 0.8 --out /proc/x.svg", "--out must be a file that can be written"),
        ("plot thresholds --k 1 --alpha 0.8 --out x.bmp", "--out must be a file name that ends in .png, .svg, .pdf"),
        ("plot thresholds --k 1 --alpha 0.8 --out /nowhere/x.png", "--out must be in a folder that exists"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)
