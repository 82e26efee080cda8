"""The job store: one record a job in a folder that all workers share.

A record names the process that runs the job. If that process has ended, the job is reported as lost.
"""

import os
import re
import socket
import stat
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from ellzero.core.errors import InvalidInput
from ellzero.core.storage import Folder

_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_RECORD, _CANCEL = ".json", ".cancel"
_KEEP_SECONDS = 7 * 86_400.0
# The record of a running job is written every second, which is all that another machine can check.
_STALE_SECONDS = 60.0
LOST = "the service ended before the job did; submit it again"


class JobStore:
    """The records of jobs, by id."""

    def __init__(self, folder: str | None) -> None:
        self._folder = Folder(folder or str(_default_folder()))
        self._folder.prepare()

    def write(self, job: str, record: Mapping[str, Any]) -> None:
        """Write the record of a job that this process runs."""
        self._folder.write(job + _RECORD, orjson.dumps({**record, "owner": _this_process()}))

    def read(self, job: str) -> dict[str, Any] | None:
        """Return the record of a job, as lost if its process has ended; None if there is none."""
        if not _ID.fullmatch(job):
            return None
        try:
            record = orjson.loads(self._folder.read(job + _RECORD))
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        owner = record.pop("owner", None)
        if record.get("state") in ("waiting", "running") and not _is_alive(owner):
            record |= {"state": "lost", "reason": LOST, "eta_seconds": None}
        result: dict[str, Any] = record
        return result

    def request_cancel(self, job: str) -> None:
        """Ask the process that runs a job to cancel it."""
        self._folder.write(job + _CANCEL, b"")

    def is_cancel_requested(self, job: str) -> bool:
        """Return whether a job should be cancelled."""
        try:
            self._folder.read(job + _CANCEL)
        except FileNotFoundError:
            return False
        return True

    def remove_old(self) -> None:
        """Remove records that have not been written for a week."""
        old = time.time() - _KEEP_SECONDS
        names = [name for name, modified in self._folder.files().items() if modified < old]
        self._folder.remove([name for name in names if name.endswith((_RECORD, _CANCEL))])


def _default_folder() -> Path:
    """Return this user's default folder; refuse one that others can access."""
    folder = Path(tempfile.gettempdir()) / f"ellzero-jobs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise InvalidInput("jobs", "given, because others have access to the default folder", str(folder))
    return folder


def _this_process() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "start": _start_time(pid), "written": time.time()}


def _is_alive(owner: Any) -> bool:
    """Return whether a process still runs; on another machine, whether it has written recently."""
    if not isinstance(owner, dict):
        return False
    if owner.get("host") != socket.gethostname():
        return time.time() - float(owner.get("written", 0)) < _STALE_SECONDS
    return _start_time(int(owner["pid"])) == owner.get("start") != ""


def _start_time(pid: int) -> str:
    """Return when a process began, which distinguishes it from a later one with its id; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return ""
