"""Packages load a name when it is first used, and say what is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from ellzero.core import MissingExtra
from ellzero.core.lazy import attach_stub

STUB = "from decimal import Decimal as Decimal\nfrom no_such_module_here import thing as thing\n\n__version__: str\n"


@pytest.fixture
def package(tmp_path: Path) -> str:
    (tmp_path / "__init__.pyi").write_text(STUB)
    return str(tmp_path / "__init__.py")


def test_the_names_of_the_stub_are_the_names_of_the_package(package: str) -> None:
    load, list_names, names = attach_stub("package", package)
    assert list_names() == names == ["Decimal", "thing"]
    assert load("Decimal")("1.5") == 1.5
    with pytest.raises(AttributeError, match="module 'package' has no attribute 'Decimals'"):
        load("Decimals")


def test_a_missing_dependency_names_the_extra_that_brings_it(package: str) -> None:
    with pytest.raises(MissingExtra, match="package.thing needs the Python module no_such_module_here") as error:
        attach_stub("package", package, extra="tables")[0]("thing")
    assert error.value.extra == "tables"
    with pytest.raises(ModuleNotFoundError):
        attach_stub("package", package)[0]("thing")


@pytest.mark.parametrize(
    "name",
    [
        "certificates.EllzeroError",
        "tables.StorageFailed",
        "precompute.ClusterRefused",
        "smoothing.Certified",
        "client.ClientError",
    ],
)
def test_an_error_or_a_small_type_loads_nothing_heavy(name: str) -> None:
    room, _, attribute = name.partition(".")
    heavy = ("torch", "ray", "fastapi", "httpx2")
    code = f"""
import sys
from ellzero.{room} import {attribute}
print([module for module in {heavy!r} if module in sys.modules])
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"
