"""Families and budgets on the command line: read exactly, and refused in one line that names the option."""

import json
from pathlib import Path

import pytest
from click import UsageError
from command_line import Ellzero, check_mistake

from ellzero.certificates import Ablation, Discrete, Joint, Mask, Sparse
from ellzero.cli.family_options import BudgetRanges, list_budgets, read_budget, read_family

GRAPH = """
family = "joint"
[members.edges]
family = "sparse"
p_add = "0.01"
p_del = "0.6"
[members.words]
family = "mask"
m = "0.5"
"""


def test_simple_families_are_made_of_options() -> None:
    assert read_family("discrete", {"k": 255, "alpha": "0.2", "m": None}) == Discrete(255, "0.2")
    assert read_family("sparse", {"p_add": "0.01", "p_del": "3/5", "d": 9}) == Sparse("0.01", "0.6")
    assert read_family("ablation", {"keep": 45, "d": 784}) == Ablation(784, 45)


def test_any_family_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "graph.toml").write_text(GRAPH)
    (tmp_path / "mask.json").write_text('{"family": "mask", "m": "0.5"}')
    graph = Joint(edges=Sparse("0.01", "0.6"), words=Mask("0.5"))
    assert read_family(str(tmp_path / "graph.toml"), {"d": 3}) == graph
    assert read_family(str(tmp_path / "mask.json"), {}) == Mask("0.5")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("edges.add=1", [(1, 0, 0)]),
        (" words=1:2 , edges.delete=0:1", [(0, 0, 1), (0, 0, 2), (0, 1, 1), (0, 1, 2)]),
    ],
)
def test_ranges_name_every_budget_within_them(text: str, counts: list[tuple[int, ...]]) -> None:
    graph = Joint(edges=Sparse("0.01", "0.6"), words=Mask("0.5"))
    assert list_budgets(graph, BudgetRanges().convert(text, None, None), "--budget") == counts


def test_a_plain_number_is_enough_where_there_is_one_kind() -> None:
    assert list_budgets(Mask("0.5"), BudgetRanges().convert("2:4", None, None), "--budget") == [(2,), (3,), (4,)]
    assert read_budget(Mask("0.5"), BudgetRanges().convert("change=3", None, None), "--budget") == 3
    with pytest.raises(UsageError, match="--budget must be a single budget"):
        read_budget(Mask("0.5"), BudgetRanges().convert("1:3", None, None), "--budget")


SPARSE = "thresholds --family sparse --p-add 0.1 --p-del 0.6"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "thresholds --family sparse --p-add 0.1",
            "Missing option '--p-del'. The noise sparse has --p-add and --p-del.",
        ),
        ("thresholds --k 1", "Missing option '--alpha'."),
        ("thresholds --family spars", "--family must be discrete, sparse, "),
        (
            "thresholds --family joint",
            "--family must be discrete, sparse, sparse-levels, mask, ablation, deletion, or a .json",
        ),
        (SPARSE, "give --budget, such as --budget add=0:5,delete=0:5"),
        ("thresholds --family sparse --p-add 1.5 --p-del 0.6 --budget add=1", "--p-add must be a rational number"),
        (f"{SPARSE} --budget add=-1", "--budget must be a number, or counts by name such as add=2,delete=1"),
        (f"{SPARSE} --budget add=1,add=2", "--budget must be a number, or counts by name"),
        (f"{SPARSE} --budget ''", "--budget must be a number, or counts by name"),
        (f"{SPARSE} --budget add=1,2", "--budget must name its counts: add=…,delete=…"),
        ("plan --family mask --m 0.9 --budget 5,change=1 --p 0.99", "--budget must name its counts: change=…"),
        ("thresholds --family mask --m 0.9 --r 0:9 --d 3", "no more than d = 3 coordinates can change"),
        ("radius --family mask --m 0.9 --p 0.9 --limits 50 --d 3", "give either --d or --limits"),
        ("radius --family {tmp}/grouped.json --p 0.9 --d 50", "leave out --d: what grouped says itself counts"),
        (f"{SPARSE} --budget ad=1", "--budget must name add and delete; got 'ad'"),
        (f"{SPARSE} --budget 3", "--budget must name its counts: add=…,delete=…"),
        (f"{SPARSE} --budget add=0:99999,delete=0:99999", "--budget must name at most 1,000,000 budgets"),
        (f"{SPARSE} --budget add=1 --r 3", "give either --budget, or --r or --r-max"),
        (f"{SPARSE} --budget add=1 --method paper", "--method paper is for discrete noise at q = 1/2"),
        (f"{SPARSE} --budget add=1 --q 2", "--q must be a number from 0 to 1"),
        ("thresholds --family mask --m 0.5 --k 3 --r 1", "--k is not a parameter of the noise mask, which has --m"),
        ("thresholds --family mask --m 0.5", "give --r, --r-max or --budget"),
        ("thresholds --family ablation --d 5 --keep 2 --r 6", "--r must be an integer from 0 to 5; got 6"),
        ("thresholds --family ablation --keep 2 --r 1", "Missing option '--d'."),
        ("thresholds --family {tmp}/none.json --r 1", "--family: {tmp}/none.json: No such file or directory"),
        ("thresholds --family {tmp}/graph.toml --k 1 --r 1", "--k is for simple families"),
        ("thresholds --family {tmp}/empty.toml --r 1", "empty.toml must be one of discrete, sparse"),
        ("radius --family sparse --p-add 0.1 --p-del 0.2 --p 0.9", "give --limits, such as --limits add=5,delete=5"),
        ("radius --family mask --m 0.5 --p 0.9", "give --limits, or --d, the number of coordinates"),
        ("radius --family mask --m 0.5 --p 0.9 --limits 0:3", "--limits must name one number for each kind of change"),
        ("radius --family mask --m 0.5 --d 4 --p 0.9 --server http://localhost:1", "--server has discrete noise"),
        ("radius --k 1 --alpha 0.8 --p 0.9", "Missing option '--d'."),
        ("plan --family mask --m 0.5 --p 0.9", "give --p, and either --budget or --r"),
        ("plan --family mask --m 0.5 --n 100", "--n is for discrete noise"),
    ],
)
def test_a_mistake_is_one_line(ellzero: Ellzero, tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "graph.toml").write_text(GRAPH)
    (tmp_path / "empty.toml").write_text("")
    grouped = {"family": "grouped", "members": [{"family": "mask", "m": "0.5", "columns": 10}]}
    (tmp_path / "grouped.json").write_text(json.dumps(grouped))
    check_mistake(ellzero(line.format(tmp=tmp_path)), message.format(tmp=tmp_path))


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("a.toml", "= 1"), ("a.json", "[" * 100_000)])
def test_a_file_that_cannot_be_read_is_named(ellzero: Ellzero, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    code, out, err = ellzero(f"thresholds --family {tmp_path}/{name} --r 1")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert f"{name} is no {name[2:].upper()}" in err
