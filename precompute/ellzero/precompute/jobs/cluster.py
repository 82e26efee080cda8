"""ellzero commands as jobs of a Ray cluster: submitted once, joined by whoever asks again.

How the code gets there
-----------------------
The wheel of the installed ellzero (``wheel``) is a zip archive of what belongs on the path, and travels as the job's
``working_dir``; its requirements, without Ray, are the job's ``pip`` field. Ray applies both to the driver and to all
its workers. So

* all of them run exactly this code: the working directory comes first on their path, before any ellzero that the
  cluster's image may hold, and Ray names the archive after the hash of its bytes;
* what is missing on the cluster, pip installs by the cluster's own configuration; where all is there, it finds
  so without a registry. It works in a virtual environment that sees the cluster's packages, and that Ray keeps for
  the next job, changed code included.

Why not the other ways: a wheel in ``py_modules`` is stored under its file name, so that changed code of one version is
not uploaded again, and it is installed by a ``pip install --target`` that fetches all requirements anew and knows no
extras. A wheel in the ``pip`` field is kept under its file name likewise, and is not installed at all where the image
holds the same version. The price: the folder of the code, which Ray removes some time, is where the command runs, so
that its paths must be whole ones.

Names
-----
A job is known by its name. Its first attempt has the name as Ray's submission id, the next one ``name~2``, and so on.
An id is never used twice: Ray does not support it, and its watch over the old job can declare the new one failed
while it runs. Ray creates an id at most once, so that of several submitters at the same time one starts the job and
the others join it.
"""

import hashlib
import json
import re
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ellzero.core.errors import ClusterRefused, ClusterUnreachable, InvalidInput
from ellzero.precompute.errors import NameTaken, UnknownJob
from ellzero.precompute.jobs.log import POLL_SECONDS, follow, without_beginning
from ellzero.precompute.jobs.ray_client import CONNECT_SECONDS, asking, connect, last_line
from ellzero.precompute.jobs.wheel import Wheel, build_wheel

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s/]+/*", re.ASCII)
_TABLES, _RAY = "tables", "cluster"  # every job may need tables; Ray is there
_STOP_SECONDS = 60.0
_MOST_SILENCES = 5

_NAME_KEY = "ellzero_name"
_ATTEMPT_KEY = "ellzero_attempt"
_COMMAND_KEY = "ellzero_command"
_CODE_KEY = "ellzero_code"


class Status(StrEnum):
    """Ray's words for the states of a job."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def over(self) -> bool:
        return self not in (Status.PENDING, Status.RUNNING)


@dataclass(frozen=True)
class ClusterJob:
    """An attempt at a job, as the cluster described it when it was asked."""

    name: str
    attempt: int
    status: Status
    command: tuple[str, ...]
    code: str
    entrypoint: str
    started: datetime | None
    ended: datetime | None
    exit_code: int | None
    message: str

    @property
    def submission_id(self) -> str:
        return _submission_id(self.name, self.attempt)

    @property
    def reason(self) -> str:
        """Ray's message about the status, in a line."""
        return last_line(self.message)


@dataclass(frozen=True)
class Submission:
    """What a submit led to: ``job`` is ``new``, or was there and is joined; ``previous`` is the attempt before."""

    job: ClusterJob
    new: bool
    previous: ClusterJob | None
    same_code: bool


def default_name(command: Sequence[str]) -> str:
    """The name of a job that was given none: the same command has the same name, and so joins itself."""
    return f"ellzero-{hashlib.sha256(json.dumps(list(command)).encode()).hexdigest()[:12]}"


def check_name(name: str) -> str:
    """``name`` if it can name a job: it becomes part of addresses and of file names on the cluster."""
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", "at most 100 letters, digits, '.', '_' and '-', the first a letter or digit", name)
    return name


def requirements(extra: str | None) -> list[str]:
    """What pip must find on the cluster for a command of this extra, as the metadata say; Ray is there."""
    from packaging.requirements import Requirement

    needed = [Requirement(line) for line in requires("ellzero") or []]
    wanted, chosen = {"", _TABLES}, set()
    if extra is not None and extra != _RAY:
        wanted.add(extra)
    for wanted_extra in (waiting := list(wanted)):
        for item in needed:
            if item.marker is not None and not item.marker.evaluate({"extra": wanted_extra}):
                continue
            if item.name == "ellzero":  # an extra that is made of others
                waiting.extend(item.extras - wanted)
                wanted |= item.extras
            else:
                chosen.add(str(item).split(";")[0].strip())
    return sorted(chosen)


def runtime_env(archive: Path, extra: str | None) -> dict[str, Any]:
    """The runtime environment of a command whose code is the wheel that lies at ``archive``, named ``*.zip``."""
    return {
        "working_dir": str(archive),
        "pip": requirements(extra),
        "env_vars": {"RAY_USAGE_STATS_ENABLED": "0"},
    }


class Cluster:
    """The jobs of the Ray cluster whose head answers at ``address``, such as ``http://127.0.0.1:8265``.

    Every request has a time limit: an address that does not answer is ``ClusterUnreachable`` within seconds.
    """

    def __init__(self, address: str) -> None:
        if not _ADDRESS.fullmatch(address):
            raise InvalidInput("address", "the HTTP address of a Ray head, such as http://127.0.0.1:8265", address)
        self.address = address.rstrip("/")
        self._client = connect(self.address)

    def jobs(self) -> list[ClusterJob]:
        """The latest attempt at every ellzero job that the cluster remembers, newest first."""
        latest: dict[str, ClusterJob] = {}
        for job in sorted(filter(None, map(_job, self._details())), key=lambda job: job.attempt):
            latest[job.name] = job
        return sorted(latest.values(), key=_time_of_start, reverse=True)

    def find(self, name: str) -> ClusterJob:
        """The latest attempt at the job called ``name``."""
        job = self._latest(name)
        if job is None:
            raise UnknownJob(name, self.address)
        return job

    def refreshed(self, job: ClusterJob) -> ClusterJob:
        """The same attempt at ``job`` as it is now."""
        return self._attempt(job.name, job.attempt)

    def submit(self, name: str, command: Sequence[str], extra: str | None = None) -> Submission:
        """Run ``ellzero`` with the arguments ``command`` on the cluster, once, as the job called ``name``.

        A job of this name and command that waits, runs or succeeded is joined. One that failed or was stopped is
        started again: ellzero commands go on where they stopped. A name that has another command is ``NameTaken``.
        """
        check_name(name)
        wheel = build_wheel()
        previous = self._latest(name)
        _check_owner(previous, command)
        if previous is not None and previous.status not in (Status.FAILED, Status.STOPPED):
            return Submission(previous, new=False, previous=None, same_code=previous.code == wheel.digest)
        attempt = 1 if previous is None else previous.attempt + 1
        try:
            self._start(name, attempt, command, extra, wheel)
        except ClusterRefused:
            # Somebody else may have taken this attempt since we looked, or the name without us.
            self._check_free_of_others(name)
            rival = self._latest(name)
            if rival is None or rival.attempt < attempt:
                raise
            _check_owner(rival, command)
            return Submission(rival, new=False, previous=None, same_code=rival.code == wheel.digest)
        return Submission(self._attempt(name, attempt), new=True, previous=previous, same_code=True)

    def output(self, job: ClusterJob) -> str:
        """What the command has written so far; Ray's own message if it could not be run."""
        with asking(self.address):
            log = self._client.get_job_logs(job.submission_id)
        return "".join(self._output([log], job))

    def follow(self, job: ClusterJob) -> Iterator[str]:
        """What the command writes, piece by piece as it comes, until the job is over.

        Nothing is lost or said twice when connections break; ``ClusterUnreachable`` if the cluster stays silent.
        """
        log = follow(self._client, self.address, job.submission_id, lambda: self._over(job))
        return self._output(log, job)

    def stop(self, job: ClusterJob) -> ClusterJob:
        """Stop ``job`` and wait until it is over, for a minute at most; the job as it is then."""
        if job.status.over:
            return job
        with asking(self.address):
            self._client.stop_job(job.submission_id)
        deadline = time.monotonic() + _STOP_SECONDS
        while not job.status.over and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            job = self.refreshed(job)
        return job

    def _latest(self, name: str) -> ClusterJob | None:
        attempts = [job for job in map(_job, self._details()) if job is not None and job.name == name]
        return max(attempts, key=lambda job: job.attempt, default=None)

    def _check_free_of_others(self, name: str) -> None:
        for details in self._details():
            if details.submission_id == name and _job(details) is None:
                raise NameTaken(name, details.entrypoint)

    def _attempt(self, name: str, attempt: int) -> ClusterJob:
        with asking(self.address):
            job = _job(self._client.get_job_info(_submission_id(name, attempt)))
        if job is None:
            raise UnknownJob(name, self.address)
        return job

    def _details(self) -> list[Any]:
        with asking(self.address):
            return list(self._client.list_jobs())

    def _start(self, name: str, attempt: int, command: Sequence[str], extra: str | None, wheel: Wheel) -> None:
        metadata = {
            _NAME_KEY: name,
            _ATTEMPT_KEY: str(attempt),
            _COMMAND_KEY: json.dumps(list(command)),
            _CODE_KEY: wheel.digest,
        }
        with TemporaryDirectory(prefix="ellzero-") as folder:
            archive = Path(folder) / "ellzero.zip"  # Ray tells kinds of archives by their names
            archive.write_bytes(wheel.content)
            with asking(self.address):
                self._client.submit_job(
                    entrypoint=shlex.join(["python", "-m", "ellzero", *command]),
                    submission_id=_submission_id(name, attempt),
                    runtime_env=runtime_env(archive, extra),
                    metadata=metadata,
                )

    def _over(self, job: ClusterJob) -> bool:
        """Whether ``job`` is over; a short silence of the cluster is waited out."""
        for _ in range(_MOST_SILENCES - 1):
            try:
                return self.refreshed(job).status.over
            except ClusterUnreachable:
                time.sleep(CONNECT_SECONDS)
        return self.refreshed(job).status.over

    def _output(self, log: Iterable[str], job: ClusterJob) -> Iterator[str]:
        """What the command wrote, out of Ray's log; if it wrote nothing, why Ray could not run it."""
        said = False
        for piece in without_beginning(log, job.submission_id, job.entrypoint):
            said = said or bool(piece)
            yield piece
        if not said:
            now = self.refreshed(job)
            yield f"{now.message}\n" if now.status is Status.FAILED and now.exit_code is None else ""


def _job(details: Any) -> ClusterJob | None:
    """Ray's description of a job of ours; None for a job that ellzero did not submit."""
    metadata = details.metadata or {}
    if _NAME_KEY not in metadata:
        return None
    return ClusterJob(
        name=metadata[_NAME_KEY],
        attempt=int(metadata[_ATTEMPT_KEY]),
        status=Status(details.status.value.lower()),
        command=tuple(json.loads(metadata[_COMMAND_KEY])),
        code=metadata[_CODE_KEY],
        entrypoint=details.entrypoint,
        started=_time(details.start_time),
        ended=_time(details.end_time),
        exit_code=details.driver_exit_code,
        message=details.message or "",
    )


def _check_owner(job: ClusterJob | None, command: Sequence[str]) -> None:
    if job is not None and job.command != tuple(command):
        raise NameTaken(job.name, shlex.join(job.command))


def _submission_id(name: str, attempt: int) -> str:
    return name if attempt == 1 else f"{name}~{attempt}"  # no name contains ~


def _time_of_start(job: ClusterJob) -> datetime:
    return job.started or datetime.min.replace(tzinfo=UTC)


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
