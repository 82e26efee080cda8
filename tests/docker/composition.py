"""docker/compose.yaml, read as Compose reads it: YAML, then variables."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from .recipe import REPOSITORY

COMPOSE = REPOSITORY / "docker" / "compose.yaml"
_VARIABLE = re.compile(r"\$(?:(\$)|\{(\w+):-([^}]*)\})")


def composition(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The file with these variables set, and every other at its default."""
    raw = yaml.safe_load(COMPOSE.read_text())
    return {str(key): _interpolated(value, variables or {}) for key, value in raw.items()}


def variables_offered() -> dict[str, str]:
    """The variables that the file has, and their defaults, which are the same wherever one is used."""
    defaults: dict[str, str] = {}
    for _, name, default in _VARIABLE.findall(COMPOSE.read_text()):
        if name:
            assert defaults.setdefault(name, default) == default, f"{name} has two defaults"
    return defaults


def _interpolated(value: Any, variables: Mapping[str, str]) -> Any:
    match value:
        case str():
            text = _VARIABLE.sub(lambda match: match[1] or variables.get(match[2]) or match[3], value)
            assert "${" not in text, f"tests read ${{NAME:-default}} only: {value}"
            return text
        case list():
            return [_interpolated(item, variables) for item in value]
        case dict():
            return {key: _interpolated(item, variables) for key, item in value.items()}
        case _:
            return value
