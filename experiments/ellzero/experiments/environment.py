"""What a result depends on besides its settings: code, libraries, machine; no name of the machine and no path on it."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from ellzero.core import __version__
from ellzero.core.execution.executors import available_cores
from ellzero.core.text import hide_credentials

PACKAGES: Final = (
    "gmpy2",
    "matplotlib",
    "numpy",
    "pillow",
    "pyarrow",
    "python-flint",
    "ray",
    "rdkit",
    "safetensors",
    "scikit-learn",
    "scipy",
    "torch",
)
"""The libraries that compute, read or draw; those that are not installed are left out."""


def describe_environment() -> dict[str, Any]:
    """The environment of this process, as JSON has it."""
    return {
        "date": utc_now(),
        "ellzero": __version__,
        "commit": _describe_commit(Path(__file__).resolve().parent),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _find_version(name)) is not None},
        "machine": {
            "platform": f"{platform.system()} {platform.machine()}",
            "cpu": _name_processor(),
            "cores": available_cores(),
            "memory_gib": round(_count_memory() / 2**30, 1),
        },
    }


def is_environment(value: object) -> bool:
    """Whether a value has what `describe_environment` says of the run and its machine."""
    match value:
        case {
            "date": str(),
            "ellzero": str(),
            "python": str(),
            "commit": None | {"sha": str(), "changed": bool()},
            "machine": {"platform": str(), "cpu": str(), "cores": int(), "memory_gib": int() | float()},
        }:
            return True
    return False


def utc_now() -> str:
    """The time in UTC, to the second: 2026-07-30T12:00:00Z."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_command(words: Sequence[str] | None = None) -> str:
    """The command line as a reader would type it; by default that of this process.

    Of a path outside the working directory only the name is shown, so that data and weights are named, not located.
    """
    given = sys.argv[1:] if words is None else words
    return " ".join(["ellzero", *map(_shorten_word, given)])


def _shorten_word(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if "://" in value:
        value = hide_credentials(value)
    elif os.path.isabs(value) or value.startswith(("~", "..")):
        value = os.path.basename(value.rstrip("/")) or value
    shown = f'"{value}"' if " " in value else value
    return f"{option}{equals}{shown}"


def _describe_commit(folder: Path) -> dict[str, Any] | None:
    """The commit of the checkout that this code runs from, and whether files of it were changed; None without one."""
    try:
        root, commit = _run_git(folder, "rev-parse", "--show-toplevel", "HEAD").splitlines()
        if not folder.is_relative_to(Path(root) / "experiments"):  # a checkout of something else holds this environment
            return None
        changed = _run_git(folder, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return {"sha": commit, "changed": bool(changed)}


def _run_git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=30
    )
    return done.stdout


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _name_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _count_memory() -> int:
    """Bytes of memory of the machine; 0 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return 0
