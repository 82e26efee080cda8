"""``ellzero thresholds``: the decimals of the mathematics in every format, and what long work costs."""

import json
import subprocess
import sys

import pytest
from command_line import Ellzero, check_mistake

from ellzero.certificates import Discrete, column


def test_thresholds_as_a_table_say_their_conventions(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 255 --alpha 0.1 --r-max 7")
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "K = 255 (256 categories), α = 1/10 (total probability of staying)"
    assert lines[-1].split() == ["7", "0.98739814896523242496"]
    assert len(lines) == 10


def test_thresholds_as_csv(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 1 --alpha 4/5 --r-max 2 --digits 6 --format csv")
    assert run.out == "r,threshold\n0,0.500000\n1,0.875000\n2,0.968750\n"


def test_thresholds_as_json(ellzero: Ellzero) -> None:
    output = json.loads(ellzero("thresholds --k 1 --alpha 0.8 --r-max 1 --format json").out)
    assert (output["k"], output["alpha"], output["digits"], output["method"]) == (1, "4/5", 20, "engine")
    assert output["conventions"]["alpha"] == "total probability of staying"
    assert output["rows"][1] == {
        "r": 1,
        "threshold": "0.87500000000000000000",
        "exact": True,
        "min_p": 0.8750000000000001,
    }


def test_thresholds_go_to_saturation_by_themselves(ellzero: Ellzero) -> None:
    lines = ellzero("thresholds --k 1 --alpha 0.8 --format csv").out.splitlines()
    assert [line.partition(",")[2] for line in lines[1:]] == [str(row.value) for row in column(Discrete(1, "0.8")).rows]
    assert lines[-1] == "52,1.00000000000000000000"


def test_all_rows_up_to_r_max_are_printed(ellzero: Ellzero) -> None:
    lines = ellzero("thresholds --k 1 --alpha 0.8 --format csv --r-max 60").out.splitlines()
    assert len(lines) == 62
    assert lines[-9:] == [f"{r},1.00000000000000000000" for r in range(52, 61)]
    flat = ellzero("thresholds --k 3 --alpha 1/4 --format csv --r-max 2 --digits 1").out
    assert flat == "r,threshold\n0,0.5\n1,0.5\n2,0.5\n"
    assert ellzero("thresholds --k 3 --alpha 1/4 --format csv --digits 1").out == "r,threshold\n0,0.5\n"
    assert len(ellzero("thresholds --k 1 --alpha 0.8 --d 10 --format csv").out.splitlines()) == 12


@pytest.mark.parametrize("noise", ["--k 255 --alpha 0.2", "--k 1 --alpha 0.8", "--k 3 --alpha 1/4"])
@pytest.mark.parametrize("digits", [1, 2, 3, 20])
def test_r_max_and_r_print_the_same_range(ellzero: Ellzero, noise: str, digits: int) -> None:
    """Thresholds of few digits saturate long before min_p does."""
    ask = f"thresholds {noise} --digits {digits} --format json"
    assert ellzero(f"{ask} --r-max 60").out == ellzero(f"{ask} --r 0:60").out


def test_chosen_radii(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 255 --alpha 0.1 --r 7,0:1 --format csv --digits 3")
    assert run.out.splitlines() == ["r,threshold", "7,0.988", "0,0.500", "1,0.597"]


def test_the_paper_s_method_reports_its_error_bound(ellzero: Ellzero) -> None:
    output = json.loads(ellzero("thresholds --k 255 --alpha 0.1 --r 7 --method paper --d 784 --format json").out)
    assert output["method"] == "paper"
    assert output["rows"] == [
        {"r": 7, "threshold": "0.98739814896523242496", "error_bound": "1.00000000000000000001E-20"}
    ]


def test_r_max_beyond_d_is_cut_with_a_notice(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 1 --alpha 0.8 --r-max 9 --d 2 --format csv --digits 2")
    assert run.code == 0
    assert run.out == "r,threshold\n0,0.50\n1,0.88\n2,0.97\n"
    assert run.err == "ellzero: --r-max is cut at d = 2: no more coordinates can change\n"


def test_long_work_says_what_it_will_cost_before_it_starts() -> None:
    """Ten million radii, stopped by the reader after the first lines."""
    command = [sys.executable, "-m", "ellzero", "thresholds", "--k", "1", "--alpha", "0.5001", "--format", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = [process.stdout.readline() for _ in range(2)]
        process.stdout.close()
        notices = process.stderr.read()
    assert first[0] == "r,threshold\n"
    assert notices.startswith("ellzero: about ")
    assert notices.count("\n") == 1, "no progress bar in a pipe, and no traceback when the reader goes away"
    assert process.returncode == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        *(
            (f"thresholds --k 1 --alpha {alpha}", "--alpha must be a rational number strictly between 0 and 1")
            for alpha in ("0", "1", "1.5", "x", "NaN", "1/0")
        ),
        ("thresholds --k 0 --alpha 0.5", "Invalid value for '--k': 0 is not in the range 1<=x<=100000000."),
        ("thresholds --k x --alpha 0.5", "Invalid value for '--k': 'x' is not a valid integer."),
        ("thresholds --alpha 0.5", "Missing option '--k'."),
        ("thresholds --k 1 --alpha 0.8 --r-max -1", "Invalid value for '--r-max': -1 is not in the range x>=0."),
        ("thresholds --k 1 --alpha 0.8 --r-max 1.5", "Invalid value for '--r-max': '1.5' is not a valid integer."),
        ("thresholds --k 1 --alpha 0.8 --r -1", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 5:3", "--r must be radii of at least 0 such as 8, 1,4,7 or 1:8; got '5:3'"),
        ("thresholds --k 1 --alpha 0.8 --r 1,,2", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 0:99999999999", "--r must name at most 1,000,000 radii"),
        ("thresholds --k 1 --alpha 0.8 --r 5 --d 4", "--r must be an integer from 0 to 4; got 5"),
        ("thresholds --k 1 --alpha 0.8 --r 5 --d 4 --method paper", "--r must be an integer from 0 to 4; got 5"),
        ("thresholds --k 1 --alpha 0.8 --digits 0", "Invalid value for '--digits': 0 is not in the range 1<=x<=1000."),
        ("thresholds --k 1 --alpha 0.8 --method paper", "--d must be given for the paper's method"),
        ("thresholds --k 1 --alpha 0.8 --d 0", "Invalid value for '--d': 0 is not in the range 1<=x<=2147483647."),
        ("thresholds --k 1 --alpha 0.8 --r 1 --r-max 2", "give either --r or --r-max"),
        (
            "thresholds --k 1 --alpha 0.8 --r 1 --d 3 --method paper --workers 0",
            "Invalid value for '--workers': 0 is not in the range x>=1.",
        ),
        ("thresholds --k _1 --alpha 0.8", "Invalid value for '--k': '_1' is not a valid integer."),
        (f"thresholds --k {'9' * 5000} --alpha 0.8", "Invalid value for '--k': '999"),
        (f"thresholds --k 1 --alpha 0.8 --r {'9' * 5000}", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 0:100000000000000000000", "--r must name at most 1,000,000 radii"),
        ("thresholds --k 1 --alpha 0.8 --d 9 --method paper", "--method paper needs --r or --r-max"),
        ("thresholds --k 1 --alpha 0.8 --workers 2", "--workers goes with --method paper"),
        ("thresholds --nonsense", "No such option '--nonsense'."),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)


@pytest.mark.parametrize(
    "options",
    [
        "--k 1 --alpha 0.51 --r 9000 --digits 5",
        "--k 1 --alpha 0.51 --r-max 900 --digits 5",
        "--k 255 --alpha 0.1 --r 3 --d 900 --method paper",
    ],
)
def test_many_radii_say_what_they_cost(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, options: str) -> None:
    monkeypatch.setattr("ellzero.core.progress._WORTH_ANNOUNCING", 0.001)
    run = ellzero(f"thresholds {options}")
    assert run.code == 0
    assert "about 0 seconds" in run.err
