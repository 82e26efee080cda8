"""Modules with factories of networks, as an operator would write them."""

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def factories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """Writes modules that can be imported, and returns their names."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    before = set(sys.modules)

    def module(source: str) -> str:
        name = f"factories_of_{hashlib.sha256(f'{tmp_path} {source}'.encode()).hexdigest()[:12]}"
        (folder / f"{name}.py").write_text(f"from torch import nn\n{source}")
        return name

    yield module
    for name in set(sys.modules) - before:
        if name.startswith("factories_of_"):
            del sys.modules[name]
