"""What is known of long jobs beyond the process that does them: a record each in a folder that processes share.

A record says who does the job. Where that process has gone, the job is lost, and says so; it is not silently gone.
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
_KEPT_SECONDS = 7 * 86_400.0
# A record of a job under way is written every second; on another machine that is all there is to tell by.
_SILENT_SECONDS = 60.0
LOST = "the service ended before the job did; ask again"


class JobStore:
    """The records of jobs, by their ids."""

    def __init__(self, folder: str | None) -> None:
        self._folder = Folder(folder or str(_own_folder()))
        self._folder.prepare()

    def write(self, job: str, record: Mapping[str, Any]) -> None:
        """Keep what is known of a job, and that this process does it."""
        self._folder.write(job + _RECORD, orjson.dumps({**record, "owner": _myself()}))

    def read(self, job: str) -> dict[str, Any] | None:
        """What is known of a job; lost if whoever did it has gone. None if nothing is."""
        if not _ID.fullmatch(job):
            return None
        try:
            record = orjson.loads(self._folder.read(job + _RECORD))
        except (FileNotFoundError, orjson.JSONDecodeError):
            return None
        owner = record.pop("owner", None)
        if record.get("state") in ("waiting", "running") and not _lives(owner):
            record |= {"state": "lost", "reason": LOST, "eta_seconds": None}
        found: dict[str, Any] = record
        return found

    def ask_to_cancel(self, job: str) -> None:
        """Leave word for the process that does a job."""
        self._folder.write(job + _CANCEL, b"")

    def wants_cancel(self, job: str) -> bool:
        """Whether somebody has left word."""
        try:
            self._folder.read(job + _CANCEL)
        except FileNotFoundError:
            return False
        return True

    def sweep(self) -> None:
        """Forget jobs that nobody has written of for a week."""
        old = time.time() - _KEPT_SECONDS
        names = [name for name, modified in self._folder.files().items() if modified < old]
        self._folder.remove([name for name in names if name.endswith((_RECORD, _CANCEL))])


def _own_folder() -> Path:
    """This user's folder among those of all users, and certainly nobody else's."""
    folder = Path(tempfile.gettempdir()) / f"ellzero-jobs-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise InvalidInput("jobs", "given, since others have access to the default folder", str(folder))
    return folder


def _myself() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "pid": pid, "start": _start_of(pid), "noted": time.time()}


def _lives(owner: Any) -> bool:
    """Whether a process is still there; on another machine, whether it has written lately."""
    if not isinstance(owner, dict):
        return False
    if owner.get("host") != socket.gethostname():
        return time.time() - float(owner.get("noted", 0)) < _SILENT_SECONDS
    return _start_of(int(owner["pid"])) == owner.get("start") != ""


def _start_of(pid: int) -> str:
    """When a process began, which tells it from a later one that has its number; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        return ""
