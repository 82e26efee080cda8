"""The tree of errors is as its docstring shows it, and needs no torch."""

import re
import subprocess
import sys

from ellzero.core import errors

CODE = """
import importlib, sys
sys.modules["torch"] = None  # importing it would fail
for room in ("core", "tables", "precompute", "smoothing", "trees", "client"):
    importlib.import_module(f"ellzero.{room}.errors")
from ellzero.core.errors import EllzeroError
for kind in EllzeroError.__subclasses__():
    bases = [base.__name__ for base in kind.__bases__ if base is not EllzeroError]
    print(kind.__name__, *bases)
"""


def test_the_docstring_shows_the_tree_of_all_rooms() -> None:
    process = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    tree = re.findall(r"[├└]── (\w+)(?: \((\w+)\))?", errors.__doc__ or "")
    assert sorted(f"{name} {base}".strip() for name, base in tree) == sorted(process.stdout.splitlines())
