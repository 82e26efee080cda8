"""The published thresholds by two algorithms: every difference is explained or refused, and lists are judged by row."""

import signal
import subprocess
import sys
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from ellzero.certificates import Discrete, Inconsistent, InvalidInput, PaperThreshold, thresholds
from ellzero.core.errors import BadResults
from ellzero.core.execution.placement import Placement
from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.experiments import ExperimentFolder, ExperimentResult
from ellzero.experiments.published import IMAGENET_ALPHAS, MNIST_ALPHAS
from ellzero.experiments.threshold_lists import judge_file, read_lists
from ellzero.experiments.threshold_settings import SETTINGS
from ellzero.experiments.thresholds import ThresholdPlan, run_thresholds
from ellzero.tables import PaperTable

LOCAL = Placement("local", None, None)
QUICK = ThresholdPlan(quick=True)
SMALL = ThresholdPlan(full_alphas=())
# Every published row, but none at full size.
SCRIPT = """
import sys
from ellzero.core.execution.placement import Placement
from ellzero.experiments import ExperimentFolder
from ellzero.experiments.thresholds import ThresholdPlan, run_thresholds
run_thresholds(ExperimentFolder(sys.argv[1]), ThresholdPlan(full_alphas=()), Placement("local", None, None))
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> ExperimentResult:
    return run_thresholds(ExperimentFolder(tmp_path_factory.mktemp("small")), SMALL, LOCAL)


def test_every_published_row_agrees_within_the_algorithms_bound(result: ExperimentResult) -> None:
    assert result.values["engine_thresholds"] == result.values["algorithm_cells"] == 7 * 21 + 5 * 8
    assert result.values["equal"] + result.values["above_within_bound"] == 7 * 21 + 5 * 8
    assert result.values["disagreeing"] == 0
    summary = result.table("summary")
    assert [row[2] for row in summary.rows] == [*MNIST_ALPHAS, *IMAGENET_ALPHAS]
    assert [row[5] for row in summary.rows] == [21] * 7 + [8] * 5
    assert all(isinstance(row[10], float) and row[10] > 0 for row in summary.rows), "the time of each is measured"


@pytest.mark.parametrize(("name", "k", "alphas"), [("mnist", 1, MNIST_ALPHAS), ("imagenet", 255, IMAGENET_ALPHAS)])
def test_the_tables_hold_the_exact_thresholds_in_full(
    result: ExperimentResult, name: str, k: int, alphas: tuple[str, ...]
) -> None:
    rows = result.table(name).rows
    for place, alpha in enumerate(alphas, 1):
        assert [row[place] for row in rows] == thresholds(Discrete(k, alpha), [row[0] for row in rows])  # type: ignore[misc]


def test_a_surplus_unit_is_explained_where_the_threshold_is_a_decimal(result: ExperimentResult) -> None:
    differences = result.table("differences").rows
    assert len(differences) == result.values["above_within_bound"]
    halves = [row for row in differences if row[3] == 0]
    assert halves, "τ_0 = 1/2 is a decimal"
    for row in halves:
        assert row[4:] == (
            Decimal("0.50000000000000000000"),
            1,
            "τ is this decimal exactly, and the algorithm's last outcome exceeds it",
        )


def test_full_size_is_for_the_chosen_alphas_and_radii_only() -> None:
    plan = ThresholdPlan(("0.2", "0.50"), (1, 2))
    imagenet = plan.cells(plan.settings()[1])
    full = {(str(cell.noise.alpha), cell.r) for cell in imagenet if cell.d == 150_528}
    assert full == {(alpha, r) for alpha in ("1/5", "1/2") for r in (1, 2)}
    assert {cell.d for cell in imagenet} == {150_528, 1_024}
    assert {cell.d for cell in plan.cells(plan.settings()[0])} == {784}
    assert {cell.d for cell in QUICK.cells(QUICK.settings()[1])} == {64}


def test_the_same_rows_come_through_ray(tmp_path: Path, ray_executor: RayExecutor) -> None:
    local = run_thresholds(ExperimentFolder(tmp_path / "local"), QUICK, LOCAL)
    ray = run_thresholds(ExperimentFolder(tmp_path / "ray"), QUICK, Placement("ray", None, None))
    rows = [PaperTable.open(str(tmp_path / name / "paper")).rows() for name in ("local", "ray")]
    assert rows[0] == rows[1]
    assert local.values["equal"] == ray.values["equal"]


def test_a_killed_run_resumes_to_the_same_rows(tmp_path: Path, result: ExperimentResult) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "paper").glob("*.parquet"))) < 10 and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it had not ended"
    kept = len(PaperTable.open(str(tmp_path / "paper")).rows())
    assert 10 <= kept < 187
    resumed = run_thresholds(ExperimentFolder(tmp_path), SMALL, LOCAL)
    for name in ("mnist", "imagenet", "differences"):
        assert resumed.table(name) == result.table(name)
    log = (tmp_path / "log.txt").read_text()
    assert f"published algorithm: {187 - kept:,} of 187 cells to compute" in log


def test_a_row_below_the_exact_threshold_is_an_error_and_on_record(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path)
    wrong = PaperThreshold(Discrete(1, "0.8"), 784, 1, Decimal("0.87499999999999999999"), Decimal("1E-20"))
    PaperTable.create(str(folder.subfolder("paper"))).append([wrong])
    with pytest.raises(Inconsistent, match="1 thresholds of the published algorithm are not within its bound"):
        run_thresholds(folder, QUICK, LOCAL)
    result = folder.result()
    assert result is not None
    assert result.values["disagreeing"] == 1
    assert ("MNIST", 784, "0.80", 1, Decimal("0.87500000000000000000"), -1, "not explained: one of them is wrong") in (
        result.table("differences").rows
    )


def write_list(path: Path, values: list[Decimal]) -> None:
    """As the paper's authors publish them: a header, the thresholds, and what they may be too high by."""
    lines = ["r\trho_r^{-1}(0.5)\terr", *(f"{r}\t{value}\t1* 10^-20" for r, value in enumerate(values))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_lists_are_matched_and_judged_row_by_row(tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.mkdir()
    exact = thresholds(Discrete(255, "0.2"), range(8))
    unit = Decimal(1).scaleb(-20)
    write_list(lists / "a", [*exact[:5], exact[5] + unit, exact[6] - unit, exact[7]])
    write_list(lists / "b", thresholds(Discrete(1, "0.92"), range(21)))
    (lists / ".hidden").write_text("no list")
    plan = ThresholdPlan(quick=True, lists=read_lists(lists))
    result = run_thresholds(ExperimentFolder(tmp_path / "out"), plan, LOCAL)
    rows = result.table("list rows").rows
    below = [
        sum(Fraction(float(value)) < Fraction(exact_value) for value, exact_value in zip(values, values, strict=True))
        for values in (exact, thresholds(Discrete(1, "0.92"), range(21)))
    ]
    assert [row[:7] for row in result.table("lists").rows] == [
        ("a", "ImageNet, α = 0.2", 8, 6, 1, 1, 1),
        ("b", "MNIST, α = 0.92", 21, 21, 0, 0, 0),
    ]
    # ⌈τ⌉ and τ are on the same side of every double here: they differ by less than a unit of 10^-20.
    assert [row[7] for row in result.table("lists").rows] == below
    assert all(below)
    assert [row[4] for row in rows[:8]] == [0, 0, 0, 0, 0, 1, -1, 0]
    assert (
        f"Of 29 rows in 2 lists 27 are ⌈τ⌉, 1 above it, and 1 below τ; float() reads {sum(below)} as"
        in result.notes[-1]
    )
    other = ThresholdPlan(quick=True, lists={"a": b"0\t0.5\n1\t0.7\n"})
    log = (tmp_path / "out" / "log.txt").read_text()
    without = run_thresholds(ExperimentFolder(tmp_path / "out"), ThresholdPlan(quick=True), LOCAL)
    assert [table.name for table in without.tables] == [t.name for t in result.tables if not t.name.startswith("list")]
    assert "to compute" not in (tmp_path / "out" / "log.txt").read_text()[len(log) :], "cells are kept for other lists"
    with pytest.raises(BadResults, match="a is near the thresholds of no published setting"):
        run_thresholds(ExperimentFolder(tmp_path / "other"), other, LOCAL)


@pytest.mark.parametrize("digits", [2, 3, 4, 6, 8, 10, 16])
def test_lists_of_few_digits_are_about_the_setting_that_they_are_about(digits: int) -> None:
    """Most thresholds are close to 1, and alike for different α: those rows do not count."""
    for setting in SETTINGS:
        for alpha in setting.alphas:
            values = thresholds(Discrete(setting.k, alpha), setting.radii, digits)
            text = "".join(f"{r}\t{value}\n" for r, value in zip(setting.radii, values, strict=True))
            try:
                judged = judge_file("a", text.encode())
            except BadResults:
                assert digits < 5, "so few digits may leave too few rows that tell"
                continue
            assert (judged.setting, judged.alpha) == (setting, alpha)
            assert {row.verdict for row in judged.rows} == {"equal"}


@pytest.mark.parametrize("alpha", ["0.9", "0.94", "0.81", "0.55"])
def test_a_list_for_an_unpublished_alpha_is_left_out(alpha: str) -> None:
    values = thresholds(Discrete(1, alpha), range(21))
    text = "".join(f"{r}\t{value}\n" for r, value in enumerate(values))
    with pytest.raises(BadResults, match="a is near the thresholds of no published setting"):
        judge_file("a", text.encode())


def test_a_list_that_fits_several_settings_is_left_out() -> None:
    with pytest.raises(BadResults, match="a is near the thresholds of no published setting"):
        judge_file("a", b"0\t0.5\n")


def test_a_grossly_wrong_row_is_judged_and_other_files_are_left_out_by_name(tmp_path: Path) -> None:
    """A row far below its threshold is the worst that a list can have, and no reason to say nothing of it."""
    lists = tmp_path / "lists"
    lists.mkdir()
    exact = thresholds(Discrete(1, "0.8"), range(9))
    write_list(lists / "a", [*exact[:6], Decimal("0.5"), *exact[7:]])
    (lists / "README.md").write_text("The lists of this folder.\n")
    result = run_thresholds(
        ExperimentFolder(tmp_path / "out"), ThresholdPlan(quick=True, lists=read_lists(lists)), LOCAL
    )
    (row,) = result.table("lists").rows
    assert row[:5] == ("a", "MNIST, α = 0.80", 9, 8, 0)
    assert row[6] == 1
    assert "Left out: README.md is no list of thresholds: line 1 must be" in result.notes[-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0\t0.5\n1\t0.875\n1\t0.875\n", "x has more than one row for r = 1"),
        (b"\xff\xfe", "x is not a text file"),
        (b"", "x holds no rows"),
        (b"hello\n", "x is no list of thresholds: line 1 must be a radius and a decimal"),
        (b"0\t0.5\n1\t0.1\n", "x is near the thresholds of no published setting"),
    ],
)
def test_a_file_that_is_no_list_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadResults, match=message):
        run_thresholds(ExperimentFolder(tmp_path / "out"), ThresholdPlan(quick=True, lists={"x": content}), LOCAL)
    assert not (tmp_path / "out").exists(), "refused before anything is written"


def test_plans_are_of_published_values() -> None:
    with pytest.raises(InvalidInput, match=r"full_alphas must be of 0\.1, 0\.2, 0\.3, 0\.4, 0\.5; got '0\.25'"):
        ThresholdPlan(("0.25",))
    with pytest.raises(InvalidInput, match="full_radii must be from 0 to 7; got 8"):
        ThresholdPlan(("0.2",), (8,))
    with pytest.raises(InvalidInput, match="lists must be a folder that exists"):
        read_lists(Path("nowhere"))
