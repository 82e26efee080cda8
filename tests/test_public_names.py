"""The names that users import from each part: a small list, kept on purpose."""

import ast
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest


@pytest.fixture(
    params=[
        "audit",
        "certificates",
        "client",
        "core",
        "experiments",
        "precompute",
        "serve",
        "smoothing",
        "tables",
        "trees",
    ]
)
def part(request: pytest.FixtureRequest) -> object:
    return import_module(f"ellzero.{request.param}")


def test_every_public_name_exists_and_is_documented(part: object) -> None:
    names: list[str] = part.__all__  # type: ignore[attr-defined]
    assert names == sorted(names)
    for name in names:
        assert isinstance(getattr(part, name), int) or getattr(part, name).__doc__, name


def test_a_part_shows_no_other_public_functions(part: object) -> None:
    shown = {
        name
        for name, value in vars(part).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "").startswith("ellzero")
        and name not in (*part.__all__, "attach_stub")  # type: ignore[attr-defined]
    }
    assert shown == set()


def test_a_class_name_occurs_once_in_the_project() -> None:
    """One name means one thing, so that a reader knows where it is from."""
    places: dict[str, list[str]] = defaultdict(list)
    repository = Path(__file__).parents[1]
    scripts = [repository / name for name in ("benchmarks", "examples", "tools")]
    for root in [*map(Path, import_module("ellzero").__path__), *scripts]:
        for path in root.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path.name)
    assert len(places) > 200
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
