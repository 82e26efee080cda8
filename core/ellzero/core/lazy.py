"""Packages that load a name when it is first used, so that asking for one class does not load torch.

A package's public names stand once, in its ``__init__.pyi``: type checkers read it, and so does `attach_stub` (the
manner of SPEC 1 and of its library lazy_loader, which cannot take names from other packages).
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ellzero.core.errors import MissingExtra

Attached: TypeAlias = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach_stub(package: str, filename: str, extra: str | None = None) -> Attached:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose ``__init__.pyi`` imports its public names.

    A name whose module lacks a dependency raises `MissingExtra`, which says that ``ellzero[extra]`` brings it.
    """
    tree = ast.parse(Path(filename).with_suffix(".pyi").read_text(encoding="utf-8"))
    modules = {
        alias.name: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module is not None
        for alias in node.names
    }
    names = sorted(modules)

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(modules[name]), name)
        except ModuleNotFoundError as missing:
            if extra is None or (missing.name or "").startswith("ellzero"):
                raise
            raise MissingExtra(f"{package}.{name}", extra, missing.name or "") from missing

    return load, lambda: names, names
