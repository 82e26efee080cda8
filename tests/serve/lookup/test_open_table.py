"""A service with a manifest answers from a table as it was signed, at the start and after SIGHUP, or not at all."""

import signal
import time
from pathlib import Path

import httpx2
import pytest
from command_line import Ellzero
from oracles.tables import exact_slice, files
from serve.running import running

from ellzero.certificates import Discrete
from ellzero.core.signing_keys import create_key
from ellzero.tables import Table, sign_report, verify

PATH = "/v1/radius?p=0.99&d=784&k=255&alpha=0.2"
SIGNED, ADDED = Discrete(255, "0.2"), Discrete(255, "0.3")


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """Settings of a service with a signed table."""
    table = Table.create(str(tmp_path / "table"))
    table.append([exact_slice(SIGNED)])
    key = create_key(tmp_path / "key.pem")
    (tmp_path / "manifest.json").write_bytes(sign_report(verify(table), key))
    return {
        "tables": str(tmp_path / "table"),
        "tables_manifest": str(tmp_path / "manifest.json"),
        "tables_public_key": str(tmp_path / "key.pub.pem"),
    }


def test_a_service_keeps_the_signed_table_when_it_is_changed(tmp_path: Path, settings: dict[str, str]) -> None:
    with running(tmp_path / "log", settings=settings) as service:
        assert httpx2.get(service.url + PATH).json()["source"] == "table"
        Table.open(settings["tables"]).append([exact_slice(ADDED)])
        service.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 30
        while service.metric('ellzero_table_reloads_total{outcome="failed"}') != 1:
            assert time.monotonic() < deadline, "the reload was not refused within 30 s"
            time.sleep(0.02)
        assert len(httpx2.get(service.url + "/v1/tables").json()["columns"]) == 1
        log = service.log.read_text()
        assert "is not of the table" in log
        assert "the old ones stay" in log


def refuse(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> str:
    """The line with which a service refuses to start."""
    for name, value in settings.items():
        monkeypatch.setenv(f"ELLZERO_SERVE_{name.upper()}", value)
    run = ellzero("serve --port 0")
    assert run.code in (1, 2)
    assert (run.out, run.err.count("\n")) == ("", 1)
    return run.err


def test_a_service_does_not_start_with_a_table_that_is_not_as_signed(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    (added,) = Table.open(settings["tables"]).append([exact_slice(ADDED)])
    line = refuse(ellzero, monkeypatch, settings)
    place = f"the manifest {settings['tables_manifest']} is not of the table {settings['tables']}"
    assert line == f"ellzero: {place}: shard {added} is not in the manifest\n"


def test_a_service_does_not_start_with_a_manifest_of_another_key(
    ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], tmp_path: Path
) -> None:
    create_key(tmp_path / "other.pem")
    line = refuse(ellzero, monkeypatch, {**settings, "tables_public_key": str(tmp_path / "other.pub.pem")})
    assert " is signed with the key " in line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables_public_key": None}, "TABLES_PUBLIC_KEY must be set if ELLZERO_SERVE_TABLES_MANIFEST is; got None"),
        ({"tables_manifest": None}, "TABLES_MANIFEST must be set if ELLZERO_SERVE_TABLES_PUBLIC_KEY is; got None"),
        ({"tables_public_key": "key.pem"}, "TABLES_PUBLIC_KEY must be an Ed25519 public key in a PEM file; got "),
        ({"write_back": "true"}, "WRITE_BACK must be false for a signed table, to which no row can be added; got True"),
    ],
)
def test_settings_that_do_not_fit_together_are_named(
    ellzero: Ellzero,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    settings: dict[str, str],
    changes: dict[str, str | None],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = files(tmp_path)
    changed = {name: value for name, value in {**settings, **changes}.items() if value is not None}
    assert refuse(ellzero, monkeypatch, changed).startswith(f"ellzero: ELLZERO_SERVE_{message}")
    assert files(tmp_path) == before
