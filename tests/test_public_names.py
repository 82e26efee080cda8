"""The names that users import from each part: a small list, kept on purpose."""

from importlib import import_module

import pytest


@pytest.fixture(params=["certificates", "client", "precompute", "smoothing", "tables"])
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
        and name not in part.__all__  # type: ignore[attr-defined]
    }
    assert shown == set()
