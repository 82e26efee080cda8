"""``ellzero serve``: one clear line for each mistake, and keys that can be set as they are printed."""

import shlex
import socket
from pathlib import Path

import pytest
from command_line import Ellzero
from starlette.testclient import TestClient

from ellzero.serve import ServeSettings, create_app

RADIUS = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("serve --port 70000", "port"),
        ("serve --port x", "port"),
        ("serve --workers 0", "workers"),
        ("serve --tables {tmp}/nothing", "nothing"),
    ],
)
def test_a_wrong_option_is_one_line(ellzero: Ellzero, tmp_path: Path, line: str, message: str) -> None:
    run = ellzero(line.format(tmp=tmp_path))
    assert run.code in (1, 2)
    assert message in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_wrong_setting_is_one_line_that_names_it(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_API_KEYS", '{"a": {"sha256": "secret"}}')
    run = ellzero("serve")
    assert run.code == 2
    assert "ELLZERO_SERVE_API_KEYS" in run.err
    assert len(run.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "abc", "an integer from 0 to 65535"),
        ("WORKERS", "0", "an integer from 1 to 256"),
        ("MAX_SECONDS", "-1", "a number above 0"),
        ("API_KEYS", "foo", "JSON such as"),
        ("LOG_FORMAT", "xml", "json or text"),
    ],
)
def test_a_wrong_variable_is_one_line_with_what_is_allowed(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    monkeypatch.setenv(f"ELLZERO_SERVE_{name}", value)
    run = ellzero("serve")
    assert run.code == 2
    assert f"ELLZERO_SERVE_{name} must be {allowed}" in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_misspelt_variable_is_a_warning_with_the_nearest_name(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_PROT", "80")
    run = ellzero(f"serve --tables {tmp_path}/nothing")
    assert "ELLZERO_SERVE_PROT is not a setting; did you mean ELLZERO_SERVE_PORT?" in run.err


def test_a_port_in_use_is_one_line(ellzero: Ellzero) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        run = ellzero(f"serve --port {listener.getsockname()[1]}")
    assert run.code == 1
    assert "in use" in run.err
    assert len(run.err.strip().splitlines()) == 1


def test_a_new_key_can_be_set_as_it_is_printed(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    run = ellzero(r"""serve --new-key "al\"i'ce" """)
    key = run.out.splitlines()[0].split(": ")[1]
    name, value = run.out.splitlines()[1].removeprefix("setting: ").split("=", 1)
    monkeypatch.setenv(name, *shlex.split(value))
    with TestClient(create_app(ServeSettings(log_level="error"))) as client:
        assert client.get(RADIUS).status_code == 401
        assert client.get(RADIUS, headers={"x-api-key": key}).status_code == 200
