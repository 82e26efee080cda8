"""Requests for votes: the same answers as in Python, and clear problems."""

from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
import torch
from serve.running import Running
from serve.test_batch import NPY, npy
from serve.voting_models import X, make_classifier, post

from ellzero.client import Client
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.voting.request_models import CertifyRequest, parse_voting_body
from ellzero.smoothing import CertifySettings, DiscreteNoise


@pytest.mark.parametrize(
    "options", [{}, {"runner_up": True}, {"stopping": "anytime"}, {"stopping": "staged"}, {"alpha": "0.7"}, {"n0": 7}]
)
def test_certificates_over_http_are_those_in_python(voting: Running, folder: Path, options: dict[str, Any]) -> None:
    noise = DiscreteNoise(3, options.get("alpha", "0.9"))
    n0, stopping = options.get("n0", 100), options.get("stopping", "settled")
    settings = CertifySettings.of(n0, 5_000, "0.01", 8, stopping, options.get("runner_up", False))
    expected = list(make_classifier(folder, noise).certify_many(list(X), settings))
    with Client(voting.url) as client:
        for x in (X, X.tolist(), X.astype(np.uint8), torch.from_numpy(X), X / 3, (X / 3).astype(np.float32)):
            answer = client.certify("small", x, n=5_000, failure="0.01", seed=8, **options)
            assert (answer.n0, answer.n, answer.failure, answer.seed, answer.d) == (n0, 5_000, "1/100", 8, 16)
            assert answer.noise == noise.description()
            for mine, theirs in zip(expected, answer.results, strict=True):
                assert theirs.radius == mine.radius
                assert theirs.prediction == (None if mine.radius is None else mine.prediction)
                assert (theirs.selected, theirs.count, theirs.drawn) == (mine.selected, mine.count, mine.drawn)
                assert (tuple(theirs.counts), tuple(theirs.selection)) == (mine.counts, mine.selection)
                assert (theirs.lower_bound, theirs.upper_bound) == (mine.lower_bound, mine.upper_bound)


@pytest.mark.parametrize("stopping", ["settled", "staged", "hasty", "anytime", "never"])
@pytest.mark.parametrize("failure", ["1e-12", "1e-300"])
def test_no_failure_probability_is_too_small_to_certify_at(voting: Running, stopping: str, failure: str) -> None:
    with Client(voting.url) as client:
        (result,) = client.certify("small", X[0], n=1_500, failure=failure, seed=2, stopping=stopping).results
    assert 0 <= result.lower_bound * result.drawn <= result.count


def test_predictions_over_http_are_those_in_python(voting: Running, folder: Path) -> None:
    mine = make_classifier(folder).predict(torch.from_numpy(X[1]), 700, "0.01", seed=4)
    with Client(voting.url) as client:
        answer = client.predict("small", X[1], n=700, failure="0.01", seed=4)
    (theirs,) = answer.results
    assert (theirs.prediction, tuple(theirs.counts), theirs.drawn) == (mine.prediction, mine.counts, mine.drawn)


def test_the_answer_has_the_seed_that_the_service_drew(voting: Running) -> None:
    with Client(voting.url) as client:
        first = client.certify("small", X[0], n=300)
        again = client.certify("small", X[0], n=300, seed=first.seed)
    assert first.results == again.results


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        (
            {"model": "none"},
            404,
            "no model is called none; there are classes, demo-digits, digits, memory, nan, raise, small",
        ),
        ({"model": "../small"}, 422, "model must be a name that /v1/models lists"),
        ({"model": 3}, 422, "model must be a name"),
        ({"x": [1, 2]}, 422, "x must be of shape [1, 4, 4], or several of them stacked; got [2]"),
        ({"x": "text"}, 422, "x must be an array of numbers"),
        ({"x": [[["a"] * 4] * 4]}, 422, "x must be an array of numbers of one shape"),
        ({"x": [[[4] * 4] * 4]}, 422, "x must be levels from 0 to 3; got 4"),
        ({"x": [[[-1] * 4] * 4]}, 422, "x must be levels from 0 to 3; got -1"),
        ({"x": [[[0.4] * 4] * 4]}, 422, "x must be whole multiples of 1/3 where it is float"),
        ({"x": [[[1.5] * 4] * 4]}, 422, "x must be from 0 to 1 where it is float"),
        ({"x": []}, 422, "x must be an input with at least one coordinate"),
        ({"n": 0}, 422, "n must be an integer from 1 to 100000000; got 0"),
        ({"n": 10**9}, 422, "n must be an integer from 1 to 100000000"),
        ({"n": 10**8}, 422, "a request may take 20,000,000"),
        ({"n0": 0}, 422, "n0 must be an integer"),
        ({"failure": 1}, 422, "failure must be a number strictly between 0 and 1"),
        ({"alpha": "2"}, 422, "alpha must be a rational number strictly between 0 and 1"),
        ({"seed": -1}, 422, "seed must be an integer from 0"),
        ({"wait": 60}, 422, "wait must be an integer from 0 to 20"),
        ({"stopping": "soon"}, 422, "stopping must be settled or staged or hasty or anytime or never; got 'soon'"),
        (
            {"stopping": "anytime", "runner_up": True},
            422,
            "stopping must be settled, staged, hasty or never with runner_up",
        ),
        ({"runner_up": "yes"}, 422, "runner_up must be true or false"),
        ({"path": "/etc/passwd"}, 422, "there is no field 'path' here"),
    ],
)
def test_a_wrong_value_is_one_clear_problem(voting: Running, fields: dict[str, Any], status: int, message: str) -> None:
    answer = post(voting.url, "certify", **{"model": "small", "x": X[0].tolist(), "n": 10, **fields})
    assert answer.status_code == status
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("query", "array", "status", "message"),
    [
        ("model=small&n=10", X[0].astype("U3"), 422, "body must be a .npy file of integers, booleans or floats"),
        ("model=small&n=10", np.asfortranarray(X[0].T), 422, "in C order"),
        ("model=small&n=10", X[0][:, :3], 422, "x must be of shape [1, 4, 4]"),
        ("model=small&n=10&runner_up=1", X[0], 422, "runner_up must be true or false"),
        ("n=10", X[0], 422, "model is missing"),
        ("model=small", X[0], 422, "n is missing"),
    ],
)
def test_a_wrong_array_is_one_clear_problem(
    voting: Running, query: str, array: np.ndarray[Any, Any], status: int, message: str
) -> None:
    answer = httpx2.post(f"{voting.url}/v1/certify?{query}", content=npy(array), headers=NPY)
    assert answer.status_code == status
    assert message in answer.json()["detail"]


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{", {"content-type": "application/json"}, 400),
        (b"[]", {"content-type": "application/json"}, 422),
        (b'{"model": "small", "n": 5}', {"content-type": "application/json"}, 422),
        (b'{"x": ' + b"[" * 200_000, {"content-type": "application/json"}, 422),
        (b'{"model": "small", "n": 5, "n": 6, "x": []}', {"content-type": "application/json"}, 422),
        (b"x", {"content-type": "text/plain"}, 415),
        (b"\x93NUMPY", NPY, 422),
    ],
)
def test_a_malformed_body_is_refused(voting: Running, content: bytes, headers: dict[str, str], status: int) -> None:
    query = "?model=small&n=5" if headers == NPY else ""
    assert httpx2.post(f"{voting.url}/v1/predict{query}", content=content, headers=headers).status_code == status


def test_a_key_is_given_once_and_a_number_is_what_it_writes() -> None:
    """Also beside an input, whose levels are read as doubles."""
    with pytest.raises(HttpProblem, match="failure is given more than once"):
        parse_voting_body(CertifyRequest, b'{"model": "m", "failure": "0.1", "x": [[0.5]], "failure": "0.2"}')
    body = b'{"model": "m", "failure": 0.10000000000000000000001, "alpha": 0.2, "x": [[0.5, 1]]}'
    request, x = parse_voting_body(CertifyRequest, body)
    assert (request.failure, request.alpha, x) == ("0.10000000000000000000001", "0.2", [[0.5, 1]])


@pytest.mark.parametrize("job", ["0" * 32, "nonsense", "..%2f..%2fetc", "a" * 5_000])
def test_an_unknown_job_is_not_found(voting: Running, job: str) -> None:
    for method in ("GET", "DELETE"):
        assert httpx2.request(method, f"{voting.url}/v1/jobs/{job}").status_code == 404
