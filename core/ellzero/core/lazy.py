"""Packages that load a name when it is first used, so that importing one class does not load torch.

A package's public names are listed once, in its ``__init__.pyi``: type checkers read it, and so does `attach_stub`
(as in SPEC 1 and its library lazy_loader, which cannot take names from other packages).
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ellzero.core.errors import MissingExtra

PackageAttributes: TypeAlias = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach_stub(package: str, filename: str, extra: str | None = None) -> PackageAttributes:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package whose ``__init__.pyi`` imports its public names.

    If a name's module needs a dependency that is missing, `MissingExtra` says how to install ``ellzero[extra]``.
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
