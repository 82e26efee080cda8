"""``ellzero judge`` on result files of others."""

import json
import os
from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake

from ellzero.certificates import Discrete, Votes, gaussian_l2_radius, lower_bound, min_count

NOISE = "--noise discrete --k 1 --alpha 0.55 --d 64"


def least(r: int) -> int:
    count = min_count(Discrete(1, "0.55"), r, 1_000, "0.001")
    assert count is not None
    return count


def write(folder: Path, rows: list[str], header: str = "idx\tlabel\tpredict\tradius\tcorrect\ttime\tcount") -> Path:
    path = folder / "others.tsv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_every_verdict_is_counted_and_what_is_not_proved_is_named(ellzero: Ellzero, tmp_path: Path) -> None:
    rows = [
        f"0\t1\t1\t3.0\t1\t0:00\t{least(3)}",
        f"10\t1\t1\t3.0\t1\t0:00\t{least(3) - 1}",
        f"20\t1\t1\t2.0\t1\t0:00\t{least(3)}",
        "30\t1\t-1\t0.0\t0\t0:00\t500",
        "40\t1\t1\t1\t1\t0:00\t",
        "50\t1\t1\t0\t1\t0:00\t510",
    ]
    code, out, err = ellzero(f"judge {write(tmp_path, rows)} {NOISE} --n 1000")
    lines = out.splitlines()
    assert (code, err) == (1, "")
    assert lines[0].endswith("d = 64, n = 1,000, failure 0.001; a radius r claims at most r changes")
    assert lines[1:3] == ["idx 10: claims 3, and 2 is proved", "idx 50: claims 0, and nothing is proved"]
    assert [line.split()[0] for line in lines[3:8]] == ["1", "1", "2", "1", "1"]
    assert lines[-1] == "not proved: 2 of 5 claimed radii"
    described = json.loads(ellzero(f"judge {write(tmp_path, rows)} {NOISE} --n 1000 --json").out)
    verdicts = ["proved", "not proved", "loose", "abstained", "cannot be judged", "not proved"]
    assert [row["verdict"] for row in described] == verdicts


def test_sound_files_have_exit_code_0(ellzero: Ellzero, tmp_path: Path) -> None:
    path = write(tmp_path, [f"0\t1\t1\t3\t1\t0\t{least(3)}", f"1\t1\t1\t4\t1\t0\t{least(3)}"])
    assert ellzero(f"judge {path} {NOISE} --n 1000").code == 1
    below = ellzero(
        f"judge {write(tmp_path, [f'1	1	1	4	1	0	{least(3)}'])} {NOISE} --n 1000 --claims below"
    )
    assert (below.code, below.out.splitlines()[-1]) == (0, "every radius that can be judged is proved: 1 of 1")


def test_gaussian_files_are_judged_in_l2(ellzero: Ellzero, tmp_path: Path) -> None:
    """Rounded to three digits, as published files have it: a radius may be rounded up."""
    bounds = {
        count: gaussian_l2_radius("0.5", lower_bound(Votes(count, 1_000, "0.001"))) or 0 for count in range(900, 990)
    }
    count, exact = next((count, exact) for count, exact in bounds.items() if float(f"{exact:.3f}") > exact)
    radii = [exact - 0.0006, 0.3, exact, exact + 0.1]
    rows = [f"{index}\t1\t1\t{radius:.3f}\t1\t0\t{count}" for index, radius in enumerate(radii)]
    code, out, _ = ellzero(f"judge {write(tmp_path, rows)} --sigma 0.5 --n 1000")
    lines = out.splitlines()
    assert code == 1
    assert [line.split(",")[0] for line in lines[1:3]] == [
        f"idx 2: claims {float(f'{exact:.3f}')}",
        f"idx 3: claims {float(f'{exact + 0.1:.3f}')}",
    ]
    assert [line.split()[0] for line in lines[3:8]] == ["1", "1", "2", "0", "0"]
    rounded = "of those not proved, 1 by no more than the rounding of their last digit"
    assert lines[8:] == [rounded, "not proved: 2 of 4 claimed radii"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--n 10", "give the noise: --family and its parameters, such as --k and --alpha, or --sigma"),
        ("--k 1 --alpha 0.8 --sigma 1 --d 3", "give the noise"),
        ("--k 1 --alpha 0.8", "Missing option '--d'"),
        ("--k 1 --d 3", "Missing option '--alpha'"),
        ("--k 1 --alpha 2 --d 3", "--alpha must be a rational number strictly between 0 and 1"),
        ("--sigma 1 --d 3", "--d, --channels and --claims are for radii that count changes"),
        ("--sigma 0", "--sigma must be a finite number above 0"),
        ("--sigma 1 --failure 2", "--failure must be a number strictly between 0 and 1"),
        ("--sigma 1 --n 0", "Invalid value for '--n'"),
    ],
)
def test_mistakes_are_one_line(ellzero: Ellzero, tmp_path: Path, options: str, message: str) -> None:
    check_mistake(ellzero(f"judge {write(tmp_path, ['0	1	1	1	1	0	10'])} {options}"), message)


def test_more_votes_than_were_drawn_are_a_mistake(ellzero: Ellzero, tmp_path: Path) -> None:
    path = write(tmp_path, ["0\t1\t1\t1\t1\t0\t1001"])
    check_mistake(ellzero(f"judge {path} {NOISE} --n 1000"), "count must be at most n = 1000; got 1001")


def test_other_files_are_refused_in_one_line(ellzero: Ellzero, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "long").write_bytes(b"radius\n" + b"1" * 200_000 + b"\n")
    for name in ("pipe", "binary", "empty", "long", "."):
        run = ellzero(f"judge {tmp_path / name} {NOISE}")
        assert (run.code, run.out, run.err.count("\n")) == (1, "", 1), name
    check_mistake(ellzero(f"judge {tmp_path / 'none'} {NOISE}"), "Invalid value for 'FILE'")
