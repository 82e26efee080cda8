"""The executor that works on Ray: on a cluster, or on its own Ray on this machine."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from ellzero.core.errors import (
    ClusterRefused,
    ClusterUnreachable,
    EllzeroError,
    InvalidInput,
    MissingExtra,
    WorkersLost,
)
from ellzero.core.execution.executors import WorkerResources, available_cores
from ellzero.core.text import first_line

T = TypeVar("T")
R = TypeVar("R")

# A task is retried when its worker or its node dies, but a task that kills every worker must fail in the end.
_RETRIES = 20
_LEAST_IN_FLIGHT = 8
_IN_FLIGHT_OF_ACTOR = 2
_CONNECT_SECONDS = 5.0
_HEALTH_SECONDS = 20.0
_OBJECT_STORE_BYTES = 100_000_000
# Ray reads these when it is imported. A cluster of our own listens on loopback only, so it does without the tokens that
# Ray 2.60 turns on by default, and it reports no usage statistics.
PRIVATE_CLUSTER = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class RayExecutor(AbstractContextManager["RayExecutor"]):
    """Ray core tasks: on the cluster at ``address``, or on one of its own with ``workers`` processes on loopback.

    Only a few tasks per worker are in flight, so memory does not grow with the number of items. A task whose worker or
    node dies runs again, so the work must give the same result when it is done twice.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address
        self._own_workers = workers or available_cores()

    def __enter__(self) -> Self:
        if self._address is None:
            for name, value in PRIVATE_CLUSTER.items():
                os.environ.setdefault(name, value)
        self._ray = _import_ray()
        if self._ray.is_initialized():
            self._owns_ray = False
        elif self._address is None:
            self._owns_ray = True
            self._connect(
                address="local",
                num_cpus=self._own_workers,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
            )
        else:
            self._owns_ray = True
            check_reachable(self._address)
            self._connect(address=self._address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owns_ray:
            with nullcontext() if error is None else _silent_stderr():
                self._ray.shutdown()  # ends what is still running for this driver

    @property
    def workers(self) -> int:
        """The cores of the cluster."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def gpus(self) -> int:
        """The GPUs of the cluster."""
        return int(self._ray.cluster_resources().get("GPU", 0))

    def run(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order in which they are ready, with a bounded number of tasks in flight.

        After an error, or if the caller reads no further, those in flight go on until they or the driver end.
        """
        ray = self._ray
        remote = ray.remote(max_retries=_RETRIES)(_apply)
        work_reference = ray.put(work)
        pending = iter(items)
        in_flight = [
            remote.remote(work_reference, item) for item in islice(pending, max(_LEAST_IN_FLIGHT, 2 * self.workers))
        ]
        # They are not cancelled: Ray ends the whole process if a task completes while it is (2.60).
        while in_flight:
            (ready,), in_flight = ray.wait(in_flight, num_returns=1)
            result = self._result(ready)
            del ready  # and with it the copy in the object store
            in_flight.extend(remote.remote(work_reference, item) for item in islice(pending, 1))
            yield result

    def count_workers(self, resources: WorkerResources) -> int:
        """How many workers with these resources the cluster has room for."""
        by_gpu = self.gpus // resources.gpus if resources.gpus else self.workers
        return max(1, min(by_gpu, self.workers // max(1, resources.cores)))

    def run_stateful(
        self, make: Callable[[], Callable[[T], R]], items: Iterable[T], resources: WorkerResources
    ) -> Iterator[R]:
        """Run actors. Each has its current item and the next in hand; an actor that dies restarts with both."""
        ray = self._ray
        actor = ray.remote(
            num_cpus=resources.cores, num_gpus=resources.gpus, max_restarts=_RETRIES, max_task_retries=_RETRIES
        )(_StatefulWorker)
        pending = iter(items)
        actors: list[Any] = []
        in_flight: dict[Any, Any] = {}  # by reference, the actor that works on it
        try:
            for item in islice(pending, _IN_FLIGHT_OF_ACTOR * self.count_workers(resources)):
                if len(actors) < self.count_workers(resources):
                    actors.append(actor.remote(make))  # by value: it must outlive restarts
                worker = actors[len(in_flight) % len(actors)]
                in_flight[worker.apply.remote(item)] = worker
            while in_flight:
                (ready,), _ = ray.wait(list(in_flight), num_returns=1)
                free = in_flight.pop(ready)
                result = self._result(ready)
                del ready
                for item in islice(pending, 1):
                    in_flight[free.apply.remote(item)] = free
                yield result
        finally:
            # Ray prints a line for each task of an actor that is killed; `shutdown` ends the actors of our own driver.
            for worker in actors if not (in_flight and self._owns_ray) else ():
                ray.kill(worker)

    def _result(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ModuleNotFoundError):
                raise WorkersLost(f"they lack the module {cause.name}; `ellzero submit` brings it along") from error
            if isinstance(cause, EllzeroError | OSError):
                raise cause from None
            raise
        except errors.RuntimeEnvSetupError as error:
            raise WorkersLost(f"their environment cannot be set up: {first_line(error)}") from error
        except errors.RayError as error:
            raise WorkersLost(first_line(error)) from error

    def _connect(self, **options: Any) -> None:
        handler = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(log_to_driver=False, logging_level="ERROR", **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            raise ClusterRefused(self._address or "this machine", first_line(error)) from error
        if callable(handler) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray replaces the caller's by its own


@contextmanager
def _silent_stderr() -> Iterator[None]:
    """Drop what is written to standard error: Ray's C++ prints lines about tasks that end with the driver.

    Its log level is no way out: Ray prints a line for RAY_BACKEND_LOG_LEVEL itself.
    """
    sys.stderr.flush()
    stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as null:
            os.dup2(null.fileno(), 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def has_ray() -> bool:
    """Whether Ray is installed."""
    try:
        _import_ray()
    except MissingExtra:
        return False
    return True


class _StatefulWorker:
    """An actor that makes its function once and applies it to item after item."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make = make
        self._work: Callable[[Any], Any] | None = None

    def apply(self, item: Any) -> Any:
        # Not in the constructor: Ray reports a failure there as the death of the actor, without our error.
        if self._work is None:
            self._work = self._make()
        return self._work(item)


def _apply(work: Callable[[T], R], item: T) -> R:
    return work(item)


def _import_ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("the Ray executor", "cluster", error.name or "") from None
    return ray


def check_reachable(address: str) -> None:
    """Raise soon if no Ray answers: Ray itself would try for a minute and could not be interrupted."""
    if address in ("auto", "local"):
        return
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("", "ray"):
        allowed = "host:port of a Ray cluster, such as head:6379, or auto (http:// addresses are for `ellzero submit`)"
        raise InvalidInput("address", allowed, address)
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
        if parts.scheme != "ray":
            probe = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", f"{host}:{port}"]
            subprocess.run(probe, capture_output=True, timeout=_HEALTH_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        raise ClusterUnreachable(address) from None
