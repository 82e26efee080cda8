"""Settings: documented with their defaults, and read from the environment."""

import json
from pathlib import Path

import pytest

from ellzero.serve import ServeSettings

DOCS = Path(__file__).parents[2] / "docs" / "serving.md"


@pytest.mark.parametrize("name", list(ServeSettings.model_fields))
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    field = ServeSettings.model_fields[name]
    assert field.description
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith(f"| `ELLZERO_SERVE_{name.upper()}` |")]
    assert len(lines) == 1
    assert f"| {_show(field.default)} |" in lines[0]


def _show(default: object) -> str:
    return "" if default in (None, (), {}) else f"`{json.dumps(default) if isinstance(default, bool) else default}`"


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELLZERO_SERVE_PORT", "9001")
    monkeypatch.setenv("ELLZERO_SERVE_API_KEYS", json.dumps({"a": {"sha256": "0" * 64, "routes": ["/v1/plan"]}}))
    settings = ServeSettings()
    assert settings.port == 9001
    assert settings.api_keys["a"].routes == ("/v1/plan",)
