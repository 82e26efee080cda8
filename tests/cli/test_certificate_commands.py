"""The command line: what it prints, and one clear line with exit code 2 for every mistake."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Ellzero

from ellzero.certificates import Noise, column
from ellzero.core.progress import track

TAU_8 = column(Noise(255, "0.2"), 8).rows[8].value


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
    found = json.loads(ellzero("thresholds --k 1 --alpha 0.8 --r-max 1 --format json").out)
    assert (found["k"], found["alpha"], found["digits"], found["method"]) == (1, "4/5", 20, "engine")
    assert found["conventions"]["alpha"] == "total probability of staying"
    assert found["rows"][1] == {
        "r": 1,
        "threshold": "0.87500000000000000000",
        "exact": True,
        "min_p": 0.8750000000000001,
    }


def test_thresholds_go_to_saturation_by_themselves(ellzero: Ellzero) -> None:
    lines = ellzero("thresholds --k 1 --alpha 0.8 --format csv").out.splitlines()
    assert [line.partition(",")[2] for line in lines[1:]] == [str(row.value) for row in column(Noise(1, "0.8")).rows]
    assert lines[-1] == "52,1.00000000000000000000"


def test_an_r_max_that_was_asked_for_gets_all_its_rows(ellzero: Ellzero) -> None:
    lines = ellzero("thresholds --k 1 --alpha 0.8 --format csv --r-max 60").out.splitlines()
    assert len(lines) == 62
    assert lines[-9:] == [f"{r},1.00000000000000000000" for r in range(52, 61)]
    flat = ellzero("thresholds --k 3 --alpha 1/4 --format csv --r-max 2 --digits 1").out
    assert flat == "r,threshold\n0,0.5\n1,0.5\n2,0.5\n"
    assert ellzero("thresholds --k 3 --alpha 1/4 --format csv --digits 1").out == "r,threshold\n0,0.5\n"
    assert len(ellzero("thresholds --k 1 --alpha 0.8 --d 10 --format csv").out.splitlines()) == 12


@pytest.mark.parametrize("noise", ["--k 255 --alpha 0.2", "--k 1 --alpha 0.8", "--k 3 --alpha 1/4"])
@pytest.mark.parametrize("digits", [1, 2, 3, 20])
def test_a_range_says_the_same_however_it_is_asked_for(ellzero: Ellzero, noise: str, digits: int) -> None:
    """Thresholds of few digits saturate long before min_p does."""
    ask = f"thresholds {noise} --digits {digits} --format json"
    assert ellzero(f"{ask} --r-max 60").out == ellzero(f"{ask} --r 0:60").out


def test_chosen_radii(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 255 --alpha 0.1 --r 7,0:1 --format csv --digits 3")
    assert run.out.splitlines() == ["r,threshold", "7,0.988", "0,0.500", "1,0.597"]


def test_the_paper_s_method_reports_its_error_bound(ellzero: Ellzero) -> None:
    found = json.loads(ellzero("thresholds --k 255 --alpha 0.1 --r 7 --method paper --d 784 --format json").out)
    assert found["method"] == "paper"
    assert found["rows"] == [
        {"r": 7, "threshold": "0.98739814896523242496", "error_bound": "1.00000000000000000001E-20"}
    ]


def test_r_max_beyond_d_is_cut_with_a_notice(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --k 1 --alpha 0.8 --r-max 9 --d 2 --format csv --digits 2")
    assert run.code == 0
    assert run.out == "r,threshold\n0,0.50\n1,0.88\n2,0.97\n"
    assert run.err == "ellzero: --r-max is cut at d = 2: no more coordinates can change\n"


def test_radius_is_the_last_line(ellzero: Ellzero) -> None:
    assert ellzero("radius --p 0.99 --k 255 --alpha 0.2 --d 150528").out.splitlines()[-1] == "3"
    assert ellzero("radius --p 0.5 --k 255 --alpha 0.2 --d 150528").out.splitlines()[-1] == "abstain"
    assert ellzero("radius --p 0.48 --p-b 0.01 --k 255 --alpha 0.1 --d 150528").out.splitlines()[-1] == "2"
    votes = "radius --count 99900 --n 100000 --failure 0.001 --k 255 --alpha 0.2 --d 150528"
    assert ellzero(votes).out.splitlines()[-1] == "7"


def test_extremely_small_failure_probabilities_are_printed_as_given(ellzero: Ellzero) -> None:
    run = ellzero("radius --count 5 --n 5 --failure 1e-4000 --k 1 --alpha 0.8 --d 4")
    assert run.code == 0
    assert "at failure 1e-4000" in run.out
    assert run.out.splitlines()[-1] == "abstain"


def test_a_probability_between_a_threshold_and_its_ceiling_is_not_said_to_exceed_the_ceiling(ellzero: Ellzero) -> None:
    command = "radius --p 0.69686274509803921568999 --k 255 --alpha 0.2 --d 9"
    run = ellzero(command)
    assert "above τ_1 = 0.69686274509803921569, not above τ_2 = 0.85373533256439830835 (rounded up)" in run.out
    assert run.out.splitlines()[-1] == "1"
    assert json.loads(ellzero(f"{command} --json").out)["margin"] == "0.00000000000000000000"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_one_line(unbuffered: str) -> None:
    command = [sys.executable, "-m", "ellzero", "radius", "--p", "0.9", "--k", "1", "--alpha", "0.8", "--d", "5"]
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert done.stderr == "ellzero: No space left on device\n"


def test_radius_in_json_says_why(ellzero: Ellzero) -> None:
    found = json.loads(ellzero("radius --p 0.99 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert found["radius"] == 3
    assert found["threshold"] == "0.97898829668830238747"
    assert found["next_threshold"] == "0.99493645881485561183"
    assert found["margin"] == "0.01101170331169761253"
    found = json.loads(ellzero("radius --count 99900 --n 100000 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert (found["radius"], found["min_count"], found["next_min_count"]) == (7, 99900, 99991)
    found = json.loads(ellzero("radius --p 0.2 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert (found["radius"], found["threshold"]) == (None, None)


def test_radius_with_two_classes_in_json_says_why(ellzero: Ellzero) -> None:
    found = json.loads(ellzero("radius --p 0.48 --p-b 0.01 --k 255 --alpha 0.1 --d 150528 --json").out)
    assert found["radius"] == 2
    assert float(found["top_at_least"]) > 1 - float(found["others_lack_at_least"])
    found = json.loads(ellzero("radius --p 0.1 --p-b 0.2 --k 255 --alpha 0.1 --d 150528 --json").out)
    assert (found["radius"], found["top_at_least"], found["others_lack_at_least"]) == (None, None, None)


def test_plan(ellzero: Ellzero) -> None:
    assert ellzero("plan --k 255 --alpha 0.2 --r 3 --p 0.99").out.splitlines()[-1] == "2482"
    assert ellzero("plan --k 255 --alpha 0.2 --n 100000 --d 150528").out.splitlines()[-1] == "8"
    run = ellzero("plan --k 255 --alpha 0.2 --r 3 --p 0.9")
    assert run.code == 0
    assert run.out.splitlines()[-1] == "unreachable"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "--k 255 --alpha 0.2 --r 8 --p 0.99",
            f"p = 0.99 is below τ_8 = {TAU_8}: no number of votes certifies radius 8.",
        ),
        (
            "--k 1 --alpha 0.8 --r 1 --p 7/8",
            "p = 7/8 equals τ_1 = 0.87500000000000000000: no number of votes certifies radius 1.",
        ),
        (
            "--k 1 --alpha 0.8 --r 1 --p .8750001",
            "p = .8750001 is so close to τ_1 = 0.87500000000000000000 that no n up to 10^8 has power 0.9 for radius 1.",
        ),
    ],
)
def test_plan_says_why_a_radius_is_unreachable(ellzero: Ellzero, options: str, sentence: str) -> None:
    run = ellzero(f"plan {options}")
    assert (run.code, run.out, run.err) == (0, f"{sentence}\nunreachable\n", "")


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_are_written(ellzero: Ellzero, tmp_path: Path, suffix: str, start: bytes) -> None:
    out = tmp_path / f"figure.{suffix}"
    run = ellzero(f"plot thresholds --k 255 --alpha 0.1,0.2,1/256 --r-max 12 --out {out}")
    assert (run.code, run.out) == (0, f"{out}\n")
    assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        *(
            (f"thresholds --k 1 --alpha {alpha}", "--alpha must be a rational number strictly between 0 and 1")
            for alpha in ("0", "1", "1.5", "x", "NaN", "1/0")
        ),
        ("thresholds --k 0 --alpha 0.5", "--k must be an integer from 1 to 100000000; got 0"),
        ("thresholds --k x --alpha 0.5", "--k must be an integer from 1 to 100000000; got 'x'"),
        ("thresholds --alpha 0.5", "Missing option '--k'."),
        ("thresholds --k 1 --alpha 0.8 --r-max -1", "--r-max must be an integer of at least 0; got -1"),
        ("thresholds --k 1 --alpha 0.8 --r-max 1.5", "--r-max must be an integer of at least 0; got '1.5'"),
        ("thresholds --k 1 --alpha 0.8 --r -1", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 5:3", "--r must be radii of at least 0 such as 8, 1,4,7 or 1:8; got '5:3'"),
        ("thresholds --k 1 --alpha 0.8 --r 1,,2", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 0:99999999999", "--r must name at most 1,000,000 radii"),
        ("thresholds --k 1 --alpha 0.8 --r 5 --d 4", "--r must be an integer from 0 to 4; got 5"),
        ("thresholds --k 1 --alpha 0.8 --r 5 --d 4 --method paper", "--r must be an integer from 0 to 4; got 5"),
        ("thresholds --k 1 --alpha 0.8 --digits 0", "--digits must be an integer from 1 to 1000; got 0"),
        ("thresholds --k 1 --alpha 0.8 --method paper", "--d must be given for the paper's method"),
        ("thresholds --k 1 --alpha 0.8 --d 0", "--d must be an integer from 1 to 2147483647; got 0"),
        ("thresholds --k 1 --alpha 0.8 --r 1 --r-max 2", "give either --r or --r-max"),
        (
            "thresholds --k 1 --alpha 0.8 --r 1 --d 3 --method paper --workers 0",
            "--workers must be an integer of at least 1",
        ),
        ("thresholds --k _1 --alpha 0.8", "--k must be an integer from 1 to 100000000; got '_1'"),
        (f"thresholds --k {'9' * 5000} --alpha 0.8", "--k must be an integer from 1 to 100000000; got '999"),
        (f"thresholds --k 1 --alpha 0.8 --r {'9' * 5000}", "--r must be radii of at least 0"),
        ("thresholds --k 1 --alpha 0.8 --r 0:100000000000000000000", "--r must name at most 1,000,000 radii"),
        ("thresholds --k 1 --alpha 0.8 --d 9 --method paper", "--method paper needs --r or --r-max"),
        ("thresholds --k 1 --alpha 0.8 --workers 2", "--workers goes with --method paper"),
        (
            "radius --p 0.9 --failure 7 --k 1 --alpha 0.8 --d 4",
            "--failure must be given with --count and --n only\n",
        ),
        (
            "radius --p 0.9 --k 1 --alpha 0.8 --d 4 --table bundled --server http://127.0.0.1:1",
            "give either --table or --server, not both\n",
        ),
        ("radius --p 0.9 --k 1 --alpha 0.8 --d x", "--d must be an integer from 1 to 2147483647; got 'x'"),
        ("radius --p 0.3 --k 1 --alpha 0.8 --d 0", "--d must be an integer from 1 to 2147483647; got 0"),
        (
            "radius --count 5 --n 5 --failure 1e-5000 --k 1 --alpha 0.8 --d 4",
            "--failure must be a number strictly between",
        ),
        ("plan --k 1 --alpha 0.8 --n 5 --d 4 --power 0.5", "give either --n and --d, or --r and --p"),
        ("plot thresholds --k 1 --alpha 0.8 --out /proc/x.svg", "--out must be a file that can be written"),
        ("radius --p 1.1 --k 1 --alpha 0.8 --d 4", "--p must be a number from 0 to 1; got '1.1'"),
        ("radius --p -0.1 --k 1 --alpha 0.8 --d 4", "--p must be a number from 0 to 1; got '-0.1'"),
        ("radius --p nan --k 1 --alpha 0.8 --d 4", "--p must be a number from 0 to 1; got 'nan'"),
        ("radius --count 3 --n 2 --k 1 --alpha 0.8 --d 4", "--count must be an integer from 0 to 2; got 3"),
        ("radius --count 3 --k 1 --alpha 0.8 --d 4", "--n must be given with --count\n"),
        ("radius --k 1 --alpha 0.8 --d 4", "--p must be given, or --count and --n instead\n"),
        (
            "radius --p 0.9 --count 3 --n 4 --k 1 --alpha 0.8 --d 4",
            "--p must be given without --count and --n, or left out\n",
        ),
        ("radius --count 3 --n 4 --p-b 0.1 --k 1 --alpha 0.8 --d 4", "--p-b must be given with --p only\n"),
        ("plan --k 1 --alpha 0.8", "give either --r and --p, or --n and --d"),
        ("plan --k 1 --alpha 0.8 --n 5", "--n needs --d"),
        ("plan --k 1 --alpha 0.8 --n 5 --d 4 --r 1", "give either --n and --d, or --r and --p"),
        ("plan --k 1 --alpha 0.8 --r 5 --p 0.9 --d 4", "--r must be an integer from 0 to 4; got 5"),
        ("plot thresholds --k 1 --alpha 0.8 --out x.bmp", "--out must be a file name that ends in .png, .svg, .pdf"),
        ("plot thresholds --k 1 --alpha 0.8 --out /nowhere/x.png", "--out must be in a folder that exists"),
        ("nonsense", "no command 'nonsense'."),
        ("thresholds --nonsense", "No such option '--nonsense'."),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    run = ellzero(line)
    assert run.code == 2
    assert run.out == ""
    assert run.err.startswith(f"ellzero: {message}")
    assert run.err.count("\n") == 1


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


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(list[str]):
        def write(self, text: str) -> None:
            self.append(text)

        def flush(self) -> None:
            pass

        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    list(track(range(3), 3, "steps", seconds=0))
    assert terminal == []
    list(track(range(3), 3, "steps", seconds=10))
    assert "3 steps" in "".join(terminal)
    assert "100%" in "".join(terminal)


def test_a_walk_through_many_radii_says_what_it_costs(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ellzero.core.progress._WORTH_ANNOUNCING", 0.001)
    for line in (
        "radius --p 0.9999 --k 1 --alpha 0.51 --d 10000",
        "radius --count 99999 --n 100000 --k 1 --alpha 0.51 --d 10000",
        "thresholds --k 1 --alpha 0.51 --r 9000 --digits 5",
        "thresholds --k 1 --alpha 0.51 --r-max 900 --digits 5",
        "thresholds --k 255 --alpha 0.1 --r 3 --d 900 --method paper",
    ):
        run = ellzero(line)
        assert run.code == 0
        assert "about 0 seconds" in run.err
