"""``ellzero radius``: the same answers whether computed, looked up or from a service, and why."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from client.loopback import http, scripted, serving
from command_line import Ellzero, check_mistake

from ellzero.core.install_hint import install_hint
from ellzero.serve import ServeSettings, create_app
from ellzero.serve.platform.api_keys import hash_key
from ellzero.serve.settings import ApiKey

KEY = "a key of these tests"
COMMAND = "radius --p 0.99 --k 255 --alpha 0.2 --d 784"


def test_radius_is_the_last_line(ellzero: Ellzero) -> None:
    assert ellzero("radius --p 0.99 --k 255 --alpha 0.2 --d 150528").out.splitlines()[-1] == "3"
    assert ellzero("radius --p 0.5 --k 255 --alpha 0.2 --d 150528").out.splitlines()[-1] == "abstain"
    assert ellzero("radius --p 0.48 --p-b 0.01 --k 255 --alpha 0.1 --d 150528").out.splitlines()[-1] == "2"
    votes = "radius --count 99900 --n 100000 --failure 0.001 --k 255 --alpha 0.2 --d 150528"
    assert ellzero(votes).out.splitlines()[-1] == "7"


def test_numbers_are_the_decimals_that_they_are_written_as(ellzero: Ellzero) -> None:
    """τ_2 of this noise is 9/10, which the double 0.9 exceeds and "0.9" does not."""
    command = "radius --k 1 --alpha 0.7 --d 784"
    assert ellzero(f"{command} --p 0.9").out.splitlines()[-1] == "1"
    assert ellzero(f"{command} --p 0.9000000000000000000000001").out.splitlines()[-1] == "2"
    assert ellzero(f"{command} --p 0.99999999999999999999 --table bundled").out.splitlines()[-1] == "126"
    assert ellzero("radius --k 1 --alpha 0.7 --d 20000 --p 0.9 --p-b 1e-400").out.splitlines()[-1] == "809"


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


def test_radius_in_json_says_why(ellzero: Ellzero) -> None:
    result = json.loads(ellzero("radius --p 0.99 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert result["radius"] == 3
    assert result["threshold"] == "0.97898829668830238747"
    assert result["next_threshold"] == "0.99493645881485561183"
    assert result["margin"] == "0.01101170331169761253"
    result = json.loads(ellzero("radius --count 99900 --n 100000 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert (result["radius"], result["min_count"], result["next_min_count"]) == (7, 99900, 99991)
    result = json.loads(ellzero("radius --p 0.2 --k 255 --alpha 0.2 --d 150528 --json").out)
    assert (result["radius"], result["threshold"]) == (None, None)


def test_radius_with_two_classes_in_json_says_why(ellzero: Ellzero) -> None:
    result = json.loads(ellzero("radius --p 0.48 --p-b 0.01 --k 255 --alpha 0.1 --d 150528 --json").out)
    assert result["radius"] == 2
    assert float(result["top_at_least"]) > 1 - float(result["others_lack_at_least"])
    result = json.loads(ellzero("radius --p 0.1 --p-b 0.2 --k 255 --alpha 0.1 --d 150528 --json").out)
    assert (result["radius"], result["top_at_least"], result["others_lack_at_least"]) == (None, None, None)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "radius --p 0.9 --failure 7 --k 1 --alpha 0.8 --d 4",
            "--failure must be given with --count and --n only\n",
        ),
        (
            "radius --p 0.9 --k 1 --alpha 0.8 --d 4 --table bundled --server http://127.0.0.1:1",
            "give either --table or --server, not both\n",
        ),
        ("radius --p 0.9 --k 1 --alpha 0.8 --d x", "Invalid value for '--d': 'x' is not a valid integer."),
        ("radius --p 0.3 --k 1 --alpha 0.8 --d 0", "Invalid value for '--d': 0 is not in the range 1<=x<=2147483647."),
        (
            "radius --count 5 --n 5 --failure 1e-5000 --k 1 --alpha 0.8 --d 4",
            "--failure must be a number strictly between",
        ),
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
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(ellzero: Ellzero, line: str, message: str) -> None:
    check_mistake(ellzero(line), message)


@pytest.mark.parametrize("evidence", ["--p 0.9999", "--count 99999 --n 100000"])
def test_a_long_computation_announces_its_time(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, evidence: str
) -> None:
    monkeypatch.setattr("ellzero.core.progress._WORTH_ANNOUNCING", 0.001)
    run = ellzero(f"radius {evidence} --k 1 --alpha 0.51 --d 10000")
    assert run.code == 0
    assert "about 0 seconds" in run.err


def test_no_service_at_the_address_is_one_line(ellzero: Ellzero) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    run = ellzero(f"{COMMAND} --server {url}")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(f"ellzero: no service answers at {url}/v1/radius: ")
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (
            http(500, b'{"detail": "an unexpected error", "request_id": "abc"}'),
            "an unexpected error (HTTP 500, request abc)",
        ),
        (http(404), "the service answered Reason (HTTP 404)"),
        (http(200, b"<html>"), " did not answer as an ellzero service does: Invalid JSON"),
    ],
)
def test_a_service_that_fails_is_one_line(ellzero: Ellzero, reply: bytes, message: str) -> None:
    with scripted(reply) as server:
        run = ellzero(f"{COMMAND} --server {server.url}")
    assert (run.code, run.out) == (1, "")
    assert message in run.err
    assert run.err.count("\n") == 1


def test_an_invalid_address_or_key_is_one_line(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ellzero(f"{COMMAND} --server localhost:8000")
    assert run.code == 2
    assert run.err.startswith("ellzero: --server must be an address such as http://127.0.0.1:8000; got ")
    monkeypatch.setenv("ELLZERO_API_KEY", "schlüssel")
    run = ellzero(f"{COMMAND} --server http://127.0.0.1:1")
    assert run.code == 2
    assert run.err.startswith("ellzero: ELLZERO_API_KEY must be printable ASCII text")
    assert "schlüssel" not in run.err


@pytest.mark.parametrize("missing", ["httpx2", "pydantic"])
def test_without_the_extra_it_says_how_to_get_it(missing: str) -> None:
    code = f"import sys; sys.modules['{missing}'] = None; from ellzero.cli.main import main; main()"
    command = [sys.executable, "-c", code, *COMMAND.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "3", "computing needs no extra"
    done = subprocess.run([*command, "--server", "http://127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"ellzero: --server needs an optional dependency: {install_hint('client')}\n"


def test_a_table_needs_its_extra_too() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from ellzero.cli.main import main; main()"
    command = [sys.executable, "-c", code, *COMMAND.split(), "--table", "bundled"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ellzero: --table needs an optional dependency: {install_hint('tables')}\n"


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    with serving(create_app(ServeSettings(log_level="error"))) as url:
        yield url


@pytest.mark.parametrize("evidence", ["--p 0.99", "--p 0.2", "--count 99900 --n 100000", "--count 5 --n 9"])
def test_the_json_is_the_same_whether_computed_looked_up_or_from_a_service(
    ellzero: Ellzero, service: str, evidence: str
) -> None:
    command = f"radius {evidence} --k 255 --alpha 0.2 --d 784 --json"
    computed = json.loads(ellzero(command).out)
    assert json.loads(ellzero(f"{command} --table bundled").out) == computed
    assert json.loads(ellzero(f"{command} --server {service}").out) == computed


@pytest.mark.parametrize(
    "options",
    [
        "--p 0.99 --k 255 --alpha 0.2 --d 784",
        "--p 99/100 --k 255 --alpha 1/5 --d 784",
        "--p 0.2 --k 255 --alpha 0.2 --d 784",
        "--p 0.9999 --k 255 --alpha 0.2 --d 2",
        "--p 1 --k 255 --alpha 0.2 --d 784",
        "--p 0.69686274509803921568999 --k 255 --alpha 0.2 --d 9",
        "--count 99900 --n 100000 --k 255 --alpha 0.2 --d 784",
        "--count 100 --n 1000 --failure 1e-9 --k 255 --alpha 0.2 --d 784",
    ],
)
def test_a_service_gives_the_same_output_as_computing(ellzero: Ellzero, service: str, options: str) -> None:
    for output in ("", " --json"):
        local, remote = ellzero(f"radius {options}{output}"), ellzero(f"radius {options}{output} --server {service}")
        assert local.code == 0
        assert remote == local


def test_the_service_may_be_set_in_the_environment(
    ellzero: Ellzero, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELLZERO_SERVER", service)
    two = "radius --p 0.48 --p-b 0.01 --k 255 --alpha 0.1 --d 784"
    assert ellzero(two).out == "p = 0.48 against at most 0.01 for every other class\n2\n"
    assert json.loads(ellzero(f"{two} --json").out)["radius"] == 2


@pytest.mark.parametrize(
    "options",
    [
        "--p 1.1 --k 255 --alpha 0.2 --d 784",
        "--p x --k 255 --alpha 0.2 --d 784",
        "--p 0.4 --p-b 2 --k 255 --alpha 0.2 --d 784",
        "--count 3 --n 2 --k 255 --alpha 0.2 --d 784",
        "--count 3 --n 4 --failure 2 --k 255 --alpha 0.2 --d 784",
        "--p 0.9 --k 0 --alpha 0.2 --d 784",
    ],
)
def test_a_service_gives_the_same_errors_as_computing(ellzero: Ellzero, service: str, options: str) -> None:
    local, remote = ellzero(f"radius {options}"), ellzero(f"radius {options} --server {service}")
    assert remote.code == 2
    assert remote == local


def test_the_api_key_is_read_from_the_environment(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"tests": ApiKey(sha256=hash_key(KEY))}
    with serving(create_app(ServeSettings(api_keys=keys, log_level="error"))) as url:
        command = f"radius --p 0.99 --k 255 --alpha 0.2 --d 784 --server {url}"
        refused = ellzero(command)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith("ellzero: ")
        assert refused.err.count("\n") == 1
        monkeypatch.setenv("ELLZERO_API_KEY", KEY)
        assert ellzero(command).out.splitlines()[-1] == "3"
