"""The trees of errors are as the docstrings of all rooms show them, and need no torch."""

import json
import re
import subprocess
import sys
from importlib import import_module

import pytest

ROOMS = ("core", "audit", "tables", "precompute", "smoothing", "trees", "client")
CODE = """
import importlib, json, sys
sys.modules["torch"] = None  # importing it would fail
for room in sys.argv[1:]:
    importlib.import_module(f"ellzero.{room}.errors")
from ellzero.core.errors import EllzeroError

def public_bases(kind):
    for base in kind.__bases__:
        yield from public_bases(base) if base.__name__.startswith("_") else [base]

def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)

tree = {}
for kind in subclasses(EllzeroError):
    if not kind.__name__.startswith("_"):
        parent, *others = public_bases(kind)
        tree[kind.__name__] = [kind.__module__, parent.__name__, [base.__name__ for base in others]]
print(json.dumps(tree))
"""


@pytest.fixture(scope="module")
def classes() -> dict[str, tuple[str, str, list[str]]]:
    """Every error: its module, its parent, and its other bases."""
    done = subprocess.run([sys.executable, "-c", CODE, *ROOMS], capture_output=True, text=True, check=True)
    return {name: (module, parent, others) for name, (module, parent, others) in json.loads(done.stdout).items()}


def read_tree(docstring: str) -> dict[str, tuple[str, list[str]]]:
    """Parse a drawn tree: each error's parent and other bases, without the root."""
    tree, path = {}, re.findall(r"^    (\w+)", docstring[docstring.index("::") :], re.MULTILINE)[:1]
    for indent, names, base in re.findall(r"^    ([│ ]*)[├└]── ([\w, ]+?)(?: \((\w+)\))?(?:  .*)?$", docstring, re.M):
        depth = len(indent) // 4 + 1
        for name in names.split(", "):
            path[depth:] = [name]
            tree[name] = (path[depth - 1], [base] if base else [])
    return tree


@pytest.mark.parametrize("room", ROOMS)
def test_the_docstring_shows_the_tree_of_a_room(room: str, classes: dict[str, tuple[str, str, list[str]]]) -> None:
    module = f"ellzero.{room}.errors"
    shown = read_tree(import_module(module).__doc__ or "")
    for name, (parent, others) in shown.items():
        assert classes[name][1:] == (parent, others), name
    roots = {parent for parent, _ in shown.values()} - set(shown)
    assert len(roots) == 1
    defined = {name for name, (where, _, _) in classes.items() if where == module}
    assert defined - roots <= set(shown)


def test_the_docstring_of_the_core_shows_what_every_room_adds(classes: dict[str, tuple[str, str, list[str]]]) -> None:
    shown = read_tree(import_module("ellzero.core.errors").__doc__ or "")
    assert set(shown) == {name for name, (_, parent, _) in classes.items() if parent == "EllzeroError"}
