"""What a job needs on the cluster: the code of this installation and its requirements, as Ray's runtime environment.

The wheel of the installed ellzero (``wheel``) is a zip archive of what belongs on the path, and travels as the job's
``working_dir``; its requirements, without Ray, are the job's ``pip`` field. Ray applies both to the driver and to all
its workers. So

* all of them run exactly this code: the working directory comes first on their path, before any ellzero that the
  cluster's image may hold, and Ray names the archive after the hash of its bytes;
* pip installs what the cluster lacks, as the cluster configures it; if nothing is missing, no registry is needed. It
  works in a virtual environment that sees the cluster's packages. Ray keeps that environment for the next job, even
  if the code has changed.

Why not the other ways: a wheel in ``py_modules`` is stored under its file name, so that changed code of one version is
not uploaded again, and it is installed by a ``pip install --target`` that fetches all requirements anew and ignores
extras. A wheel in the ``pip`` field is also stored under its file name, and is not installed at all if the image
holds the same version. The price: a command runs in the folder of the code, which Ray removes some time later, so its
paths must be absolute.
"""

from importlib.metadata import requires
from pathlib import Path
from typing import Any

_TABLES, _RAY = "tables", "cluster"  # every job may need tables; the cluster has Ray


def list_requirements(extra: str | None) -> list[str]:
    """What pip must find on the cluster for a command of this extra, by ellzero's metadata and without Ray."""
    from packaging.requirements import Requirement

    declared = [Requirement(line) for line in requires("ellzero") or []]
    extras, lines = {"", _TABLES}, set()
    if extra is not None and extra != _RAY:
        extras.add(extra)
    for current in (queue := list(extras)):
        for item in declared:
            if item.marker is not None and not item.marker.evaluate({"extra": current}):
                continue
            if item.name == "ellzero":  # an extra that consists of others
                queue.extend(item.extras - extras)
                extras |= item.extras
            else:
                lines.add(str(item).split(";")[0].strip())
    return sorted(lines)


def make_runtime_env(archive: Path, extra: str | None) -> dict[str, Any]:
    """The runtime environment of a command whose code is the wheel in the file ``archive``, named ``*.zip``."""
    return {
        "working_dir": str(archive),
        "pip": list_requirements(extra),
        "env_vars": {"RAY_USAGE_STATS_ENABLED": "0"},
    }
