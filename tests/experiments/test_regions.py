"""The analysis figure: counts by the formula that is tested against enumeration, thresholds, and certified runs."""

from fractions import Fraction
from pathlib import Path

import pytest
from command_line import run_process

from ellzero.certificates import Discrete, thresholds
from ellzero.certificates.lee2019 import region_count
from ellzero.core.errors import BadResults
from ellzero.experiments import Estimate, ExperimentFolder
from ellzero.experiments.regions import read_runs, run_regions


def test_counts_and_thresholds_are_those_of_the_mathematics(tmp_path: Path) -> None:
    result = run_regions(ExperimentFolder(tmp_path))
    for r, count, ratios in result.table("counts").rows:
        assert count == region_count(255, 150_528, r)  # type: ignore[arg-type]
        assert ratios == 2 * r + 1  # type: ignore[operator]
    assert result.values["most_regions"] == max(region_count(255, 150_528, r) for r in range(150_529))
    rows = result.table("thresholds").rows
    assert [row[2] for row in rows] == thresholds(Discrete(255, "0.2"), range(21))
    assert "accuracy" not in {table.name for table in result.tables}
    assert result.notes[-1].endswith("--results.")
    assert (tmp_path / "regions.svg").read_text().count('id="axes_') == 2


def test_certified_runs_are_the_third_part(tmp_path: Path) -> None:
    for name, alpha in (("b", "0.9"), ("a", "0.8")):
        done = run_process(
            f"certify --model demo-digits --alpha {alpha} --n 100 --limit 3 --device cpu --executor local "
            f"--out {tmp_path}/runs/{name}"
        )
        assert done.code == 0, done.err
    runs = read_runs(tmp_path / "runs")
    assert [(run.name, run.alpha, run.d, run.k) for run in runs] == [
        ("a", Fraction(4, 5), 64, 1),
        ("b", Fraction(9, 10), 64, 1),
    ]
    result = run_regions(ExperimentFolder(tmp_path / "out"), runs, quick=True)
    rows = result.table("accuracy").rows
    for run, row in zip(runs, rows, strict=True):
        assert row[2:4] == (3, run.report.mean_radius)
        first = run.report.accuracy[0]
        assert row[4] == Estimate(first.share, first.low, first.high), "the paper has other images"
    assert (tmp_path / "out" / "regions.svg").read_text().count('id="axes_') == 3


def test_a_folder_without_certificates_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match=f"{tmp_path} holds no certificates of a data set with discrete noise"):
        read_runs(tmp_path)
