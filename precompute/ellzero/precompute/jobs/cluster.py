"""ellzero commands as jobs of a Ray cluster, by Ray's own job API: submitted once, and joined by later submits.

A job is identified by its name. Its first attempt has the name as Ray's submission id, the next one ``name~2``, and so
on. An id is never used twice: Ray does not support it, and its watch over the old job can declare the new one failed
while it runs. Ray creates an id at most once, so that of several submitters at the same time one starts the job and
the others join it. `ellzero.precompute.jobs.environment` says how the code gets to the cluster.
"""

import hashlib
import json
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ellzero.core.errors import ClusterRefused, ClusterUnreachable, InvalidInput
from ellzero.precompute.errors import NameTaken, UnknownJob
from ellzero.precompute.jobs.environment import make_runtime_env
from ellzero.precompute.jobs.ray_client import CONNECT_SECONDS, connect, last_line, translate_errors
from ellzero.precompute.jobs.wheel import Wheel, build_wheel

POLL_SECONDS = 0.5
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s/]+/*", re.ASCII)
_PROGRAM = ("python", "-m", "ellzero")
_CODE_KEY = "ellzero_code"  # the metadata by which a job is known as ellzero's
_STOP_SECONDS = 60.0
_MOST_FAILURES = 5


@dataclass(frozen=True)
class ClusterJob:
    """An attempt at a job of ellzero: Ray's ``JobDetails``, as they were when the cluster sent them."""

    details: Any

    @property
    def name(self) -> str:
        return _split_id(self.details)[0]

    @property
    def attempt(self) -> int:
        return _split_id(self.details)[1]

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of ``ellzero``."""
        return tuple(shlex.split(self.details.entrypoint)[len(_PROGRAM) :])

    @property
    def code(self) -> str:
        """The digest of the wheel that the job runs."""
        return str(self.details.metadata[_CODE_KEY])

    @property
    def status(self) -> str:
        """Ray's word: pending, running, succeeded, failed or stopped."""
        return str(self.details.status.value).lower()

    @property
    def is_over(self) -> bool:
        return bool(self.details.status.is_terminal())

    @property
    def started(self) -> datetime | None:
        return _time(self.details.start_time)

    @property
    def ended(self) -> datetime | None:
        return _time(self.details.end_time)

    @property
    def exit_code(self) -> int | None:
        """None as long as the job runs, and if Ray could not run the command."""
        exit_code: int | None = self.details.driver_exit_code
        return exit_code

    @property
    def reason(self) -> str:
        """Ray's message about the status, in a line."""
        return last_line(self.details.message or "")


@dataclass(frozen=True)
class Submission:
    """The result of a submit: ``job`` is ``new``, or existed and is joined; ``previous`` is the attempt before."""

    job: ClusterJob
    new: bool
    previous: ClusterJob | None
    same_code: bool


def default_name(command: Sequence[str]) -> str:
    """The default name of a job. The same command has the same name, so that repeating it joins the job."""
    return f"ellzero-{hashlib.sha256(json.dumps(list(command)).encode()).hexdigest()[:12]}"


def check_name(name: str) -> str:
    """``name`` if it can name a job: it becomes part of addresses and of file names on the cluster."""
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", "at most 100 letters, digits, '.', '_' and '-', the first a letter or digit", name)
    return name


class Cluster:
    """The jobs of the Ray cluster whose head answers at ``address``, such as ``http://127.0.0.1:8265``.

    Every request has a time limit: an address that does not answer is ``ClusterUnreachable`` within seconds.
    """

    def __init__(self, address: str) -> None:
        if not _ADDRESS.fullmatch(address):
            raise InvalidInput("address", "the HTTP address of a Ray head, such as http://127.0.0.1:8265", address)
        self.address = address.rstrip("/")
        self._client = connect(self.address)

    def list_jobs(self) -> list[ClusterJob]:
        """The latest attempt at every ellzero job that the cluster remembers, newest first."""
        latest: dict[str, ClusterJob] = {}
        for job in sorted(map(ClusterJob, filter(_is_ours, self._details())), key=lambda job: job.attempt):
            latest[job.name] = job
        return sorted(latest.values(), key=lambda job: job.details.start_time or 0, reverse=True)

    def find_job(self, name: str) -> ClusterJob:
        """The latest attempt at the job called ``name``."""
        for job in self.list_jobs():
            if job.name == name:
                return job
        raise UnknownJob(name, self.address)

    def refresh(self, job: ClusterJob) -> ClusterJob:
        """The same attempt at ``job`` as it is now."""
        with translate_errors(self.address):
            return ClusterJob(self._client.get_job_info(job.details.submission_id))

    def submit(self, name: str, command: Sequence[str], extra: str | None = None) -> Submission:
        """Run ``ellzero`` with the arguments ``command`` on the cluster, once, as the job called ``name``.

        A job of this name and command that waits, runs or succeeded is joined. One that failed or was stopped is
        started again: ellzero commands go on where they stopped. A name that has another command is ``NameTaken``.
        """
        check_name(name)
        wheel = build_wheel()
        previous = self._find_attempt(name, command)
        if previous is None or previous.status in ("failed", "stopped"):
            attempt = 1 if previous is None else previous.attempt + 1
            try:
                job = self._start(name, attempt, command, extra, wheel)
                return Submission(job, new=True, previous=previous, same_code=True)
            except ClusterRefused:
                # Another submitter may have created this attempt since we looked.
                previous = self._find_attempt(name, command)
                if previous is None or previous.attempt < attempt:
                    raise
        return Submission(previous, new=False, previous=None, same_code=previous.code == wheel.digest)

    def read_log(self, job: ClusterJob) -> str:
        """What the command has written so far; Ray's own message if it could not be run."""
        with translate_errors(self.address):
            log: str = self._client.get_job_logs(job.details.submission_id)
        # Ray writes a line or two before the command's output.
        last_line_of_ray = f"Running entrypoint for job {job.details.submission_id}: {job.details.entrypoint}\n"
        before, started, output = log.partition(last_line_of_ray)
        if not started:
            output = before if job.is_over else ""
        if not output and job.status == "failed" and job.exit_code is None:
            return f"{job.details.message}\n"
        return output

    def follow_log(self, job: ClusterJob) -> Iterator[str]:
        """What the command writes, piece by piece as it comes, until the job is over.

        Nothing is lost or repeated when requests fail; ``ClusterUnreachable`` if the cluster stays silent.
        """
        shown, failures = 0, 0
        while True:
            start = time.monotonic()
            try:
                job = self.refresh(job)
                log = self.read_log(job)  # after the status: the log of a job that is over is complete
            except (ClusterUnreachable, ClusterRefused):
                failures += 1
                if failures == _MOST_FAILURES:
                    raise
                time.sleep(CONNECT_SECONDS)
                continue
            # Every request brings the whole log, so a long one is read less often.
            pause = max(POLL_SECONDS, 10 * (time.monotonic() - start))
            yield log[shown:]
            if job.is_over:
                return
            shown, failures = len(log), 0
            time.sleep(pause)

    def stop(self, job: ClusterJob) -> ClusterJob:
        """Stop ``job`` and wait until it is over, for a minute at most; the job as it is then."""
        if job.is_over:
            return job
        with translate_errors(self.address):
            self._client.stop_job(job.details.submission_id)
        deadline = time.monotonic() + _STOP_SECONDS
        while not job.is_over and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            job = self.refresh(job)
        return job

    def _details(self) -> list[Any]:
        with translate_errors(self.address):
            return list(self._client.list_jobs())

    def _find_attempt(self, name: str, command: Sequence[str]) -> ClusterJob | None:
        """The latest attempt at the job called ``name``; ``NameTaken`` if it is not one of this ``command``."""
        latest = None
        for details in self._details():
            if _split_id(details)[0] != name:
                continue
            if not _is_ours(details):
                raise NameTaken(name, details.entrypoint)
            job = ClusterJob(details)
            if job.command != tuple(command):
                raise NameTaken(name, shlex.join(job.command))
            if latest is None or job.attempt > latest.attempt:
                latest = job
        return latest

    def _start(self, name: str, attempt: int, command: Sequence[str], extra: str | None, wheel: Wheel) -> ClusterJob:
        with TemporaryDirectory(prefix="ellzero-") as folder, translate_errors(self.address):
            archive = Path(folder) / "ellzero.zip"  # Ray tells kinds of archives by their names
            archive.write_bytes(wheel.content)
            submission_id = self._client.submit_job(
                entrypoint=shlex.join([*_PROGRAM, *command]),
                submission_id=name if attempt == 1 else f"{name}~{attempt}",
                runtime_env=make_runtime_env(archive, extra),
                metadata={_CODE_KEY: wheel.digest},
            )
            return ClusterJob(self._client.get_job_info(submission_id))


def _is_ours(details: Any) -> bool:
    return _CODE_KEY in (details.metadata or {})


def _split_id(details: Any) -> tuple[str, int]:
    """The name and attempt in a submission id; no name contains ~. Drivers that nobody submitted have no id."""
    name, _, attempt = (details.submission_id or "").partition("~")
    return name, int(attempt) if attempt.isdecimal() else 1


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
