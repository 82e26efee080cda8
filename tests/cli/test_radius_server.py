"""``ellzero radius`` with a table or a service: the same answers, and one line where either is missing."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest
from client.loopback import http, scripted, serving
from command_line import Ellzero

from ellzero.core.install_hint import install_hint
from ellzero.serve import ServeSettings, create_app

COMMAND = "radius --p 0.99 --k 255 --alpha 0.2 --d 784"


def test_nobody_there(ellzero: Ellzero) -> None:
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


def test_an_address_or_a_key_that_cannot_be(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_the_same_json_whether_computed_looked_up_or_asked(ellzero: Ellzero, service: str, evidence: str) -> None:
    command = f"radius {evidence} --k 255 --alpha 0.2 --d 784 --json"
    computed = json.loads(ellzero(command).out)
    assert json.loads(ellzero(f"{command} --table bundled").out) == computed
    assert json.loads(ellzero(f"{command} --server {service}").out) == computed
