"""``ellzero conformal``: calibrated on a part of a data set, and used on the other."""

import json
from pathlib import Path

import pytest
from command_line import Ellzero

DEMO = "--model demo-digits --shuffle 1 --device cpu"


@pytest.fixture
def calibration(ellzero: Ellzero, tmp_path: Path) -> Path:
    file = tmp_path / "new" / "digits.json"
    run = ellzero(f"conformal calibrate {DEMO} --limit 60 --n 200 --seed 1 --out {file}")
    assert run.code == 0, run.err
    assert f"{file}: 60 inputs, error 1/10: the threshold is " in run.out
    return file


def test_sets_of_other_inputs_are_summed_up_and_drawn(ellzero: Ellzero, calibration: Path, tmp_path: Path) -> None:
    line = f"conformal predict {DEMO} --skip 60 --limit 50 --n 200 --seed 2 --r 0:2 --calibration {calibration}"
    printed = ellzero(f"{line} --plot {tmp_path}/sets.svg")
    assert printed.code == 0, printed.err
    assert "50 inputs, 10 classes; K = 1, α = 9/10 per coordinate" in printed.out
    rows = [row.split() for row in printed.out.splitlines()[3:]]
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert (tmp_path / "sets.svg").stat().st_size > 5_000
    answer = json.loads(ellzero(f"{line} --json").out)
    assert (answer["error"], answer["n"], answer["seed"], len(answer["inputs"])) == ("1/10", 200, 2, 50)
    for place, (row, report) in enumerate(zip(rows, answer["report"], strict=True)):
        assert int(row[1]) == report["critical_count"]
        assert row[2] == f"{report['coverage']:.1%}"
        for each in answer["inputs"]:
            held = [label for label, count in enumerate(each["counts"]) if count >= report["critical_count"]]
            assert each["sets"][place] == held
        covered = sum(each["label"] in each["sets"][place] for each in answer["inputs"])
        assert report["coverage"] == covered / 50
    sizes = [report["mean_size"] for report in answer["report"]]
    assert sizes == sorted(sizes)
    assert sizes[0] < 2


def test_the_same_seed_gives_the_same_calibration(ellzero: Ellzero, calibration: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.json"
    assert ellzero(f"conformal calibrate {DEMO} --limit 60 --n 200 --seed 1 --out {again}").code == 0
    assert again.read_bytes() == calibration.read_bytes()
    content = json.loads(calibration.read_text())
    assert (content["n"], content["classes"], len(content["counts"]), len(content["model"])) == (200, 10, 60, 64)


def test_too_few_inputs_are_a_line(ellzero: Ellzero, tmp_path: Path) -> None:
    run = ellzero(f"conformal calibrate {DEMO} --limit 5 --n 20 --error 0.2 --out {tmp_path}/few.json")
    assert run.code == 0
    assert "too few" not in run.err
    run = ellzero(f"conformal calibrate {DEMO} --limit 4 --n 20 --error 0.2 --out {tmp_path}/few.json")
    assert "ellzero: 4 inputs are too few for the error 1/5: every set will have all classes; 5 or more" in run.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--alpha 0.8", 'noise.alpha is "9/10" there and "4/5" here'),
        ("--skip 359", "digits has 359 inputs, and --skip leaves none of them"),
        ("--noise gaussian --sigma 1", "noise must be of a family, for budgets; got 'gaussian'"),
        ("--r x", "--r must be radii"),
        ("--plot sets.gif", "plot must be a file name that ends in .png, .svg, .pdf"),
    ],
)
def test_what_does_not_fit_is_one_line(ellzero: Ellzero, calibration: Path, options: str, message: str) -> None:
    run = ellzero(f"conformal predict {DEMO} --limit 2 --n 20 --calibration {calibration} {options}")
    assert run.code != 0
    assert message in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_other_options_that_do_not_fit_are_refused_before_any_vote(ellzero: Ellzero, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    for options, message in (("--error 2", "error must be"), ("--slack 0.5", "slack must be below the error")):
        run = ellzero(f"conformal calibrate {DEMO} --limit 2 --n 20 --out {out} {options}")
        assert run.code != 0
        assert message in run.err
    assert not out.exists()
    assert "no.json: does not exist" in ellzero(f"conformal predict {DEMO} --calibration {tmp_path}/no.json").err
