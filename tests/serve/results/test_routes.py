"""Results over HTTP: what `ellzero report` says, the inputs that were certified, and one clear problem otherwise."""

import json
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from command_line import Ellzero
from serve.results_folders import certified, write_results
from serve.running import Running

from ellzero.certificates import Discrete, Votes, radius_from_votes
from ellzero.smoothing.runs.result_store import ResultStore

DIGITS = "digits/alpha-0.9"


def get(service: Running, path: str, **parameters: object) -> httpx2.Response:
    return httpx2.get(f"{service.url}/v1/{path}", params={name: str(value) for name, value in parameters.items()})


def read(service: Running, path: str, **parameters: object) -> Any:
    answer = get(service, path, **parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_list_has_every_run_and_what_is_wrong_with_the_others(served_results: Running) -> None:
    answer = read(served_results, "results")
    assert answer["complete"]
    assert answer["unusable"] == [{"name": "broken", "reason": "run.json is damaged"}]
    runs = {run["name"]: run for run in answer["results"]}
    assert list(runs) == ["begun", "bits", "digits/alpha-0.8", DIGITS]
    assert [run["inputs"] for run in runs.values()] == [0, 60, 5, 30]
    digits = runs[DIGITS]
    assert (digits["evidence"], digits["model"], digits["n"]) == ("votes", "demo-digits", 2000)
    assert (digits["data"], digits["split"]) == ("digits, 1 from level 8 on", "test")
    assert digits["noise"] == "K = 1, α = 9/10 per coordinate"
    assert digits["failure"] == "1/1000"
    assert runs["bits"]["evidence"] == "exact"
    assert runs["begun"]["mean_radius"] is None


@pytest.mark.parametrize("name", [DIGITS, "bits"])
def test_the_report_is_that_of_the_command_line(
    served_results: Running, results_folder: Path, ellzero: Ellzero, name: str
) -> None:
    expected = json.loads(ellzero(f"report {results_folder / name} --json --plot {results_folder}/curves.svg").out)
    report = read(served_results, "results/report", name=name)
    for field in ("abstained", "wrong", "median_radius"):
        assert report[field] == expected[field]
    for field in ("inputs", "mean_radius", "mean_radius_error"):
        assert report["info"][field] == expected[field]
    assert report["votes_drawn"] == expected.get("votes_drawn")
    assert report["accuracy"][: len(expected["accuracy"])] == expected["accuracy"]
    assert report["accuracy"][len(expected["accuracy"]) :][0]["share"] == 0
    assert report["run"]["model"] == expected["run"]["model"]


def test_inputs_are_the_rows_of_the_folder_page_by_page(served_results: Running, results_folder: Path) -> None:
    table = ResultStore(str(results_folder / DIGITS)).table().to_pylist()
    listed = []
    for offset in range(0, 40, 7):
        answer = read(served_results, "results/inputs", name=DIGITS, offset=offset, limit=7)
        assert (answer["total"], answer["offset"]) == (30, offset)
        assert (answer["shape"], answer["levels"], answer["unavailable"]) == ([1, 8, 8], 2, None)
        assert answer["class_names"] == list("0123456789")
        listed += answer["rows"]
    assert len(listed) == 30
    for row, there in zip(listed, table, strict=True):
        assert {name: row[name] for name in ("index", "label", "radius", "count", "drawn", "lower_bound")} == {
            name: there[name] for name in ("index", "label", "radius", "count", "drawn", "lower_bound")
        }
        # Each look with its share of the failure, so that a reader can compute the certificate again.
        votes = [Votes(look["count"], look["n"], look["failure"]) for look in row["looks"]]
        assert [(each.n, each.count) for each in votes] == [(look["n"], look["count"]) for look in there["looks"]]
        radii = [radius_from_votes(Discrete(1, "0.9"), each, 64) for each in votes]
        assert row["radius"] == max((radius for radius in radii if radius is not None), default=None)
        assert sum(each.failure for each in votes) <= Fraction(1, 1000)
    largest = read(served_results, "results/inputs", name=DIGITS, sort="-radius", limit=1)["rows"][0]["radius"]
    assert largest == max(row["radius"] or 0 for row in table)


def test_an_input_is_that_of_the_data_set_as_json_and_as_an_array(
    served_results: Running, results_folder: Path
) -> None:
    source = ResultStore(str(results_folder / DIGITS)).source()
    assert source is not None
    data = source.load()
    for index in (0, 29):
        answer = read(served_results, "results/input", name=DIGITS, index=index)
        assert answer["x"] == data.inputs([index])[0].tolist()
        assert (answer["label"], answer["levels"]) == (data.labels[index], 2)
        url = f"{served_results.url}/v1/results/input?name={DIGITS}&index={index}"
        array = httpx2.get(url, headers={"accept": "application/x-npy"})
        assert array.headers["content-type"] == "application/x-npy"
        assert np.load(BytesIO(array.content)).tolist() == answer["x"]


@pytest.mark.parametrize(
    ("path", "parameters", "status", "field"),
    [
        ("report", {}, 422, "name"),
        ("report", {"name": "missing"}, 404, "name"),
        ("report", {"name": "../results"}, 404, "name"),
        ("report", {"name": "/etc"}, 404, "name"),
        ("report", {"name": "\x00"}, 422, "name"),
        ("report", {"name": ""}, 422, "name"),
        ("report", {"name": "begun"}, 404, "name"),
        ("report", {"name": "broken"}, 422, "name"),
        ("inputs", {"name": DIGITS, "limit": 0}, 422, "limit"),
        ("inputs", {"name": DIGITS, "limit": 201}, 422, "limit"),
        ("inputs", {"name": DIGITS, "offset": -1}, 422, "offset"),
        ("inputs", {"name": DIGITS, "sort": "seconds"}, 422, "sort"),
        ("inputs", {"name": DIGITS, "page": 2}, 422, "page"),
        ("input", {"name": DIGITS}, 422, "index"),
        ("input", {"name": DIGITS, "index": 360}, 422, "index"),
        ("input", {"name": "bits", "index": 0}, 404, "name"),
    ],
)
def test_what_cannot_be_answered_is_one_clear_problem(
    served_results: Running, path: str, parameters: dict[str, object], status: int, field: str
) -> None:
    answer = get(served_results, f"results/{path}", **parameters)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field


def test_results_are_only_read(served_results: Running) -> None:
    for path in ("results", "results/report", "results/inputs", "results/input"):
        for method in ("POST", "PUT", "DELETE"):
            assert httpx2.request(method, f"{served_results.url}/v1/{path}").status_code == 405


def test_a_run_in_progress_grows(served_results: Running, results_folder: Path) -> None:
    store = write_results(results_folder / "growing", [])
    for inputs in (1, 2):
        store.write([(inputs - 1, 0, certified(0, 1))])
        runs = {run["name"]: run["inputs"] for run in read(served_results, "results")["results"]}
        assert runs["growing"] == inputs
        answer = read(served_results, "results/inputs", name="growing")
        assert answer["total"] == inputs
        assert "no source.json" in answer["unavailable"]
    for file in (results_folder / "growing").iterdir():
        file.unlink()
    assert get(served_results, "results/report", name="growing").status_code == 404
    (results_folder / "growing").rmdir()
