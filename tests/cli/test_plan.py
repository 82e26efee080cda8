"""``ellzero plan``: the least number of votes, the largest radius, or why there is none."""

import pytest
from command_line import Ellzero, check_mistake

from ellzero.certificates import Discrete, column

TAU_8 = column(Discrete(255, "0.2"), 8).rows[8].value


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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan --k 1 --alpha 0.8 --n 5 --d 4 --power 0.5", "give either --n and --d, or --r and --p"),
        ("plan --k 1 --alpha 0.8", "give either --r and --p, or --n and --d"),
        ("plan --k 1 --alpha 0.8 --n 5", "--n needs --d"),
        ("plan --k 1 --alpha 0.8 --n 5 --d 4 --r 1", "give either --n and --d, or --r and --p"),
        ("plan --k 1 --alpha 0.8 --r 5 --p 0.9 --d 4", "--r must be an integer from 0 to 4; got 5"),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)
