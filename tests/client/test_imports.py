"""What importing the client brings along, and what it does without."""

import subprocess
import sys

import pytest

from ellzero.core.install_hint import install_hint


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_client_needs_no_ray_torch_pyarrow_numpy_or_server() -> None:
    heavy = {"ray", "torch", "pyarrow", "numpy", "pandas", "fastapi", "starlette", "uvicorn", "gmpy2", "flint"}
    code = f"""
import sys
sys.modules.update(dict.fromkeys({heavy!r}))  # importing any of them would fail
from ellzero.client import AsyncClient, Client, RadiusAnswer
with Client("http://127.0.0.1:1", retries=0) as client:
    print(client.health())
rooms = ("ellzero.client", "ellzero.core")
print([name for name in sys.modules if name.startswith("ellzero.") and not name.startswith(rooms)])
print([name for name in {heavy!r} if sys.modules[name] is not None])
"""
    assert python(code) == "False\n[]\n[]\n"


def test_answers_and_errors_need_nothing_but_python() -> None:
    code = """
import sys
sys.modules.update(dict.fromkeys(["httpx2", "pydantic", "anyio", "click"]))
from ellzero.client import ClientError, RadiusAnswer
print(issubclass(ClientError, Exception))
"""
    assert python(code) == "True\n"


@pytest.mark.parametrize("missing", ["httpx2", "pydantic"])
@pytest.mark.parametrize("name", ["Client", "AsyncClient"])
def test_without_the_extra_the_import_says_how_to_get_it(missing: str, name: str) -> None:
    shown = python(f"import sys; sys.modules['{missing}'] = None\nfrom ellzero.client import {name}")
    expected = f"ellzero.client.{name} needs the Python module {missing}: {install_hint('client')}"
    assert shown.splitlines()[-1] == f"ellzero.core.errors.MissingExtra: {expected}"


def test_a_name_that_is_not_there() -> None:
    import ellzero.client

    assert "Client" in dir(ellzero.client)
    with pytest.raises(AttributeError, match="module 'ellzero.client' has no attribute 'Klient'"):
        _ = ellzero.client.Klient  # type: ignore[attr-defined]
