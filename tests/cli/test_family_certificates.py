"""What commands print for other families is what the mathematics says, in every format."""

import csv
import io
import json
from collections.abc import Iterator
from fractions import Fraction
from math import inf
from pathlib import Path

import pytest
from client.loopback import serving
from command_line import Ellzero, check_mistake

from ellzero.certificates import (
    Discrete,
    Joint,
    Mask,
    Sparse,
    Votes,
    certified,
    certified_from_votes,
    min_p,
    plan,
    rho_inverse,
    threshold,
)
from ellzero.certificates.families.base import Budget
from ellzero.cli.family_certificates import announce_certifying
from ellzero.serve import ServeSettings, create_app

GRAPH = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))
WORDS, OPTIONS = Sparse("0.01", "0.6"), "--family sparse --p-add 0.01 --p-del 0.6"


def test_thresholds_are_those_of_the_library_in_every_format(ellzero: Ellzero) -> None:
    line = f"thresholds {OPTIONS} --budget add=0:2,delete=0:1 --digits 9"
    budgets = [{"add": add, "delete": delete} for add in range(3) for delete in range(2)]
    expected = [str(threshold(WORDS, budget, digits=9)) for budget in budgets]
    rows = list(csv.DictReader(io.StringIO(ellzero(f"{line} --format csv").out)))
    assert rows == [
        {"add": str(budget["add"]), "delete": str(budget["delete"]), "threshold": value}
        for budget, value in zip(budgets, expected, strict=True)
    ]
    described = json.loads(ellzero(f"{line} --format json").out)
    assert described["family"] == WORDS.describe()
    assert described["rows"] == [
        {"budget": budget, "threshold": value, "min_p": min_p(WORDS, budget)}
        for budget, value in zip(budgets, expected, strict=True)
    ]
    table = ellzero(line).out.splitlines()
    assert table[0] == "Sparse(p_add='1/100', p_del='3/5')"
    assert table[1].split() == ["add", "delete", "certified", "if", "p", "exceeds"]
    assert [row.split() for row in table[2:]] == [list(row.values()) for row in rows]


def test_many_budgets_say_what_they_cost(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ellzero.core.progress._WORTH_ANNOUNCING", 0.0001)
    run = ellzero(f"thresholds {OPTIONS} --budget add=0:4,delete=0:4")
    assert run.err.startswith("ellzero: 25 budgets: about 0 seconds")


def test_a_threshold_that_no_p_exceeds_is_said_to_be_one(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --family mask --m 0.6 --r 1,2 --digits 3")
    assert run.out.splitlines()[2:] == ["      1  0.900", "      2  1.000  (no p does)"]
    (row,) = json.loads(ellzero("thresholds --family mask --m 0.6 --r 2 --format json").out)["rows"]
    assert (row["min_p"], min_p(Mask("0.6"), 2)) == (None, inf)


def test_other_q_are_for_every_family(ellzero: Ellzero) -> None:
    rows = list(
        csv.DictReader(io.StringIO(ellzero("thresholds --family mask --m 0.9 --r-max 3 --q 0.9 --format csv").out))
    )
    assert [row["threshold"] for row in rows] == [str(threshold(Mask("0.9"), r, "0.9")) for r in range(4)]
    run = ellzero("thresholds --k 1 --alpha 0.8 --r 1 --q 1/3")
    assert run.out.splitlines()[0] == "Discrete(k=1, alpha='4/5'), q = 1/3"
    assert Fraction(run.out.splitlines()[-1].split()[1]) >= rho_inverse(Sparse("0.2", "0.2"), {"add": 1}, "1/3")


def test_the_largest_budgets_are_the_last_lines(ellzero: Ellzero) -> None:
    limits = {"add": 5, "delete": 20}
    run = ellzero(f"radius {OPTIONS} --p 0.95 --limits add=5,delete=20")
    assert run.out.splitlines() == [
        "Sparse(p_add='1/100', p_del='3/5'), p = 0.95: the class stays within each of these budgets",
        "add=0,delete=4",
        "add=1,delete=2",
    ]
    described = json.loads(ellzero(f"radius {OPTIONS} --count 9950 --n 10000 --limits add=5,delete=20 --json").out)
    found = certified_from_votes(WORDS, Votes(9950, 10000, "0.001"), limits)
    assert isinstance(found, tuple)
    assert described["certified"] == list(found)
    assert (described["limits"], described["failure"], described["top_k"]) == (limits, "0.001", 1)
    described = json.loads(ellzero(f"radius {OPTIONS} --p 0.7 --p-b 0.1 --limits add=5,delete=20 --top-k 2 --json").out)
    assert described["certified"] == list(certified(WORDS, "0.7", limits, p_b="0.1", top_k=2) or ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "last"),
    [
        ("radius --family mask --m 0.9 --p 0.9 --d 100", "4"),
        ("radius --family ablation --d 784 --keep 45 --p 0.9", "8"),
        ("radius --family mask --m 0.9 --p 0.5 --d 100", "abstain"),
        (f"radius {OPTIONS} --p 0.5 --limits add=1", "abstain"),
        ("radius --k 1 --alpha 0.8 --d 784 --p 0.99", "2"),
        (
            "radius --k 1 --alpha 0.8 --d 784 --p 0.99 --top-k 2",
            str(certified(Discrete(1, "0.8"), "0.99", 784, top_k=2)),
        ),
        (f"plan {OPTIONS} --budget add=1,delete=2 --p 0.99", "209"),
        (f"plan {OPTIONS} --budget add=1,delete=9 --p 0.9", "unreachable"),
        ("plan --family mask --m 0.9 --r 2 --p 0.9", "71"),
    ],
)
def test_the_answer_is_the_last_line(ellzero: Ellzero, line: str, last: str) -> None:
    run = ellzero(line)
    assert run.code == 0, run.err
    assert run.out.splitlines()[-1] == last


def test_a_plan_says_why_there_is_none(ellzero: Ellzero) -> None:
    assert "p = 0.6 equals τ = 0.60000000000000000000" in ellzero("plan --family mask --m 0.9 --r 1 --p 0.6").out
    assert "p = 0.5 is below τ" in ellzero("plan --family mask --m 0.9 --r 1 --p 0.5").out
    assert "no n up to 10^8 has power 0.9" in ellzero("plan --family mask --m 0.9 --r 1 --p 0.60001").out
    found = plan(Mask("0.9"), 2, "0.9")
    assert found is not None
    assert (found.budget, found.family) == (2, Mask("0.9"))


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving(create_app(ServeSettings(log_level="error"))) as url:
        yield url


@pytest.mark.parametrize(
    "line",
    [
        f"radius {OPTIONS} --p 0.95 --limits add=5,delete=20",
        f"radius {OPTIONS} --p 0.7 --p-b 0.1 --limits add=5,delete=20 --top-k 2",
        f"radius {OPTIONS} --count 9950 --n 10000 --limits add=5,delete=20",
        f"radius {OPTIONS} --p 0.5 --limits add=1",
        "radius --family ablation --d 784 --keep 45 --p 0.9",
        "radius --family mask --m 0.9 --count 990 --n 1000 --failure 1e-9 --d 100",
        "radius --k 1 --alpha 0.8 --d 784 --p 0.99 --top-k 2",
        "radius --family GRAPH --p 0.99 --limits edges.add=1,tokens=2",
        f"thresholds {OPTIONS} --budget add=0:2,delete=1:3",
        f"thresholds {OPTIONS} --budget add=2 --q 1/3",
        "thresholds --family GRAPH --budget edges.add=0:1,tokens=1:2",
        "thresholds --family mask --m 0.4 --r-max 3",
        "thresholds --k 1 --alpha 0.8 --r 4,1",
        "thresholds --k 1 --alpha 0.5 --r-max 3",
        "thresholds --k 1 --alpha 0.9 --r-max 60",
        "thresholds --k 1 --alpha 0.9",
        "thresholds --k 1 --alpha 0.9 --d 5",
        "thresholds --k 1 --alpha 0.9 --r-max 9 --d 5",
    ],
)
def test_a_service_and_a_table_give_the_same_output_as_computing(
    ellzero: Ellzero, service: str, tmp_path: Path, line: str
) -> None:
    words, tokens = '{"family": "sparse", "p_add": "0.01", "p_del": "0.6"}', '{"family": "mask", "m": "0.9"}'
    graph = tmp_path / "graph.json"
    graph.write_text(f'{{"family": "joint", "members": {{"edges": {words}, "tokens": {tokens}}}}}')
    line = line.replace("GRAPH", str(graph))
    for output in (line, f"{line} --json" if line.startswith("radius") else f"{line} --format json"):
        computed = ellzero(output)
        assert computed.code == 0
        assert ellzero(f"{output} --server {service}") == computed
        assert ellzero(f"{output} --table bundled").out == computed.out


def test_a_service_in_the_environment_answers_for_any_family(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    monkeypatch.setenv("ELLZERO_SERVER", service)
    assert ellzero("radius --family mask --m 0.9 --p 0.9 --d 100").out.splitlines()[-1] == "4"
    monkeypatch.setenv("ELLZERO_SERVER", "http://127.0.0.1:9")
    assert ellzero("radius --family mask --m 0.9 --p 0.9 --d 100").code == 1
    assert ellzero("thresholds --family mask --m 0.9 --r 3 --digits 30").code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "thresholds --k 1 --alpha 0.8 --r 1 --table bundled --server http://127.0.0.1:9",
            "give either --table or --server, not both\n",
        ),
        ("thresholds --k 1 --alpha 0.8 --r 1 --digits 9 --table bundled", "--table and --server have 20 digits"),
        (
            "thresholds --k 1 --alpha 0.8 --r 1 --d 9 --method paper --table bundled",
            "--table and --server have 20 digits",
        ),
    ],
)
def test_what_a_table_does_not_have_is_one_line(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)


def test_what_a_service_refuses_is_one_line(ellzero: Ellzero, service: str) -> None:
    line = f"thresholds {OPTIONS} --budget add=0:400,delete=0:400 --server {service}"
    run = ellzero(line)
    assert (run.code, run.out, run.err.count("\n")) == (2, "", 1)
    assert "at most 100,000 budgets" in run.err
    assert ellzero(f"radius {OPTIONS} --p 1 --limits add=1000000000,delete=1000000000 --server {service}").code == 1


def test_small_thresholds_are_written_in_full(ellzero: Ellzero) -> None:
    run = ellzero("thresholds --family mask --m 0.9 --r 0 --q 0 --format csv")
    assert run.out.splitlines()[-1] == "0,0.00000000000000000000"


def test_an_error_within_a_file_names_its_place(ellzero: Ellzero, tmp_path: Path) -> None:
    (tmp_path / "g.json").write_text('{"family": "joint", "members": {"a": {"family": "mask", "m": "2"}}}')
    run = ellzero(f"radius --family {tmp_path}/g.json --p 0.9 --limits 3")
    assert "g.json.members.a.m must be a rational number" in run.err


@pytest.mark.parametrize(
    ("count", "nines", "said"),
    [(2, 2, ""), (20, 12, "ellzero: certifying: about "), (5_000, 400, "ellzero: the regions of a single budget are")],
)
def test_long_work_says_so_first(capsys: pytest.CaptureFixture[str], count: int, nines: int, said: str) -> None:
    limits: Budget = {name: {"add": count, "delete": count} for name in ("edges", "attributes")}
    announce_certifying(GRAPH, limits, [1 - Fraction(1, 10**nines)])
    line = capsys.readouterr().err
    assert line.startswith(said)
    assert bool(line) is bool(said)
