"""``ellzero jobs`` on a real Ray head: lists, and mistakes in one line. `test_submit` reads and stops jobs."""

import json
import shlex

import pytest
from command_line import Ellzero
from precompute.ray_head import Head, cluster as cluster, head as head

from ellzero.precompute.jobs.cluster import Cluster

QUICK = "thresholds --k 255 --alpha 0.2 --r-max 8"
NOWHERE = "http://127.0.0.1:1"


def test_a_cluster_without_jobs_says_so(head: Head, ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cluster, "_details", lambda self: [])
    assert ellzero("jobs list") == (0, "", f"ellzero: no jobs at {head.address}\n")
    assert ellzero("jobs list --json") == (0, "[]\n", "")


def test_the_list_has_the_newest_first(head: Head, cluster: Cluster, ellzero: Ellzero) -> None:
    for name in ("older", "newer"):
        cluster.submit(name, shlex.split(QUICK))
    lines = ellzero("jobs list").out.splitlines()
    assert lines[0].split() == ["NAME", "STATUS", "ATTEMPT", "STARTED", "(UTC)", "TOOK", "COMMAND"]
    assert [line.split()[0] for line in lines[1:3]] == ["newer", "older"]
    assert lines[1].endswith(QUICK)
    newest = json.loads(ellzero("jobs list --json").out)[0]
    assert (newest["name"], newest["attempt"], newest["command"]) == ("newer", 1, shlex.split(QUICK))
    assert newest["status"] in ("pending", "running", "succeeded")
    assert newest["seconds"] >= 0


@pytest.mark.parametrize("line", ["jobs logs nobody", "jobs logs --follow nobody", "jobs stop nobody"])
def test_an_unknown_name_is_one_line(head: Head, ellzero: Ellzero, line: str) -> None:
    assert ellzero(line) == (1, "", f"ellzero: no job called nobody at {head.address}\n")


@pytest.mark.parametrize("line", [f"submit --address {NOWHERE} {QUICK}", f"jobs list --address {NOWHERE}"])
def test_an_address_where_nobody_listens_is_one_line(ellzero: Ellzero, line: str) -> None:
    assert ellzero(line) == (1, "", f"ellzero: no Ray cluster answers at {NOWHERE}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("jobs list --address auto", "--address must be the HTTP address of a Ray head"),
        ("jobs logs", "Missing argument 'NAME'."),
    ],
)
def test_a_mistake_is_one_line(ellzero: Ellzero, line: str, message: str) -> None:
    code, out, err = ellzero(line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"ellzero: {message}")
