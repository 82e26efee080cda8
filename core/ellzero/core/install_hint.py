"""The command that installs an optional dependency of this installation of ellzero.

``pip install 'ellzero[predict]'`` alone would fetch the newest torch, gigabytes built for GPUs, and fails where ellzero
is not on an index. So the command passes the constraints that ellzero was tested with, and names the checkout, archive
or repository that ellzero was installed from, if there is one.
"""

import json
import shlex
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

# In a checkout a link to the file at its root, so that both are one file; in a wheel a file of its own.
CONSTRAINTS = Path(__file__).with_name("constraints.txt")


def install_hint(extra: str) -> str:
    """The shell command that installs what ``ellzero[extra]`` needs in this environment."""
    constraint = ["--constraint", str(CONSTRAINTS.resolve())] if CONSTRAINTS.exists() else []
    return shlex.join([*_pip_command(), "install", *constraint, *requirement(extra, _read_direct_url())])


def requirement(extra: str, direct_url: dict[str, object] | None) -> list[str]:
    """pip's arguments for ``ellzero[extra]``; ``direct_url`` is its ``direct_url.json``, None if it came from an index.

    The file's fields are those of the specification "Recording the Direct URL Origin of installed distributions".
    """
    from_index = [f"ellzero[{extra}]"]
    if direct_url is None:
        return from_index
    url = str(direct_url["url"])
    path = Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None
    if path is not None and not path.exists():
        return from_index
    match direct_url:
        case {"dir_info": {"editable": True}}:
            return ["--editable", f"{path}[{extra}]"]
        case {"dir_info": _}:
            return [f"{path}[{extra}]"]
        case {"vcs_info": {"vcs": vcs, "commit_id": commit}}:
            return [f"ellzero[{extra}] @ {vcs}+{url}@{commit}"]
        case _:
            return [f"ellzero[{extra}] @ {url}"]


def _pip_command() -> list[str]:
    """``pip`` if that is this environment's, otherwise ``python -m pip``."""
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == Path(sys.executable).parent:
        return ["pip"]
    return [sys.executable, "-m", "pip"]


def _read_direct_url() -> dict[str, object] | None:
    text = distribution("ellzero").read_text("direct_url.json")
    if text is None:
        return None
    origin: dict[str, object] = json.loads(text)
    return origin
