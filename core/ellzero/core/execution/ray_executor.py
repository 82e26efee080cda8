"""Work on Ray: on a cluster, or on a Ray of its own on this machine."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
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

T = TypeVar("T")
R = TypeVar("R")

# A task is tried again when its worker or its node dies; one that kills every worker must end some time.
_RETRIES = 20
_LEAST_IN_FLIGHT = 8
_IN_FLIGHT_OF_ACTOR = 2
_CONNECT_SECONDS = 5.0
_HEALTH_SECONDS = 20.0
_OBJECT_STORE_BYTES = 100_000_000
# What Ray reads when it is imported: a cluster of our own listens on loopback only, so it needs no tokens, which Ray
# 2.60 turns on by itself; and it tells nobody of it.
PRIVATE_CLUSTER = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
}


class RayExecutor(AbstractContextManager["RayExecutor"]):
    """Ray core tasks: on the cluster at ``address``, or on one of its own with ``workers`` processes on loopback.

    At most a few tasks a worker are in flight, so memory does not grow with the number of items. A task whose worker or
    node dies runs again: work must give the same result when it is done twice.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address
        self._own_workers = workers or available_cores()

    def __enter__(self) -> Self:
        if self._address is None:
            for name, value in PRIVATE_CLUSTER.items():
                os.environ.setdefault(name, value)
        self._ray = _imported()
        if self._ray.is_initialized():
            self._owned = False
        elif self._address is None:
            self._owned = True
            self._connect(
                address="local",
                num_cpus=self._own_workers,
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE_BYTES,
            )
        else:
            self._owned = True
            check_reachable(self._address)
            self._connect(address=self._address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._owned:
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
        """The results in the order in which they are ready, with a bounded number in flight."""
        ray = self._ray
        remote = ray.remote(max_retries=_RETRIES)(_apply)
        shared = ray.put(work)
        waiting = iter(items)
        flying = [remote.remote(shared, item) for item in islice(waiting, max(_LEAST_IN_FLIGHT, 2 * self.workers))]
        try:
            while flying:
                (ready,), flying = ray.wait(flying, num_returns=1)
                result = self._result(ready)
                del ready  # and with it the copy in the object store
                flying.extend(remote.remote(shared, item) for item in islice(waiting, 1))
                yield result
        finally:
            for reference in flying:  # after an error, or when nobody wants more
                ray.cancel(reference)

    def workers_of(self, share: WorkerResources) -> int:
        """How many workers of this share the cluster has room for."""
        by_gpu = self.gpus // share.gpus if share.gpus else self.workers
        return max(1, min(by_gpu, self.workers // max(1, share.cores)))

    def run_made(self, make: Callable[[], Callable[[T], R]], items: Iterable[T], share: WorkerResources) -> Iterator[R]:
        """Actors, one a share. Each has the item it works on and the next; one that dies is started again with both."""
        ray = self._ray
        actor = ray.remote(num_cpus=share.cores, num_gpus=share.gpus, max_restarts=_RETRIES, max_task_retries=_RETRIES)(
            _Made
        )
        waiting = iter(items)
        actors: list[Any] = []
        flying: dict[Any, Any] = {}  # by reference, the actor that works on it
        try:
            for item in islice(waiting, _IN_FLIGHT_OF_ACTOR * self.workers_of(share)):
                if len(actors) < self.workers_of(share):
                    actors.append(actor.remote(make))  # by value: it must outlive restarts
                chosen = actors[len(flying) % len(actors)]
                flying[chosen.apply.remote(item)] = chosen
            while flying:
                (ready,), _ = ray.wait(list(flying), num_returns=1)
                free = flying.pop(ready)
                result = self._result(ready)
                del ready
                for item in islice(waiting, 1):
                    flying[free.apply.remote(item)] = free
                yield result
        finally:
            # Ray prints a line for each task of an actor that is killed; `shutdown` ends the actors of our own driver.
            for one in actors if not (flying and self._owned) else ():
                ray.kill(one)

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
            raise WorkersLost(f"their environment cannot be set up: {str(error).splitlines()[0]}") from error
        except errors.RayError as error:
            raise WorkersLost(str(error).splitlines()[0]) from error

    def _connect(self, **options: Any) -> None:
        handler = signal.getsignal(signal.SIGTERM)
        try:
            self._ray.init(log_to_driver=False, logging_level="ERROR", **options)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise ClusterRefused(self._address or "this machine", reason) from error
        if callable(handler) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray puts its own in the place of the caller's


def has_ray() -> bool:
    """Whether Ray is installed."""
    try:
        _imported()
    except MissingExtra:
        return False
    return True


class _Made:
    """An actor: makes its work once, then does it for item after item."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self._make = make
        self._work: Callable[[Any], Any] | None = None

    def apply(self, item: Any) -> Any:
        # Not in the constructor: what fails there, Ray reports as the death of an actor, without our error.
        if self._work is None:
            self._work = self._make()
        return self._work(item)


def _apply(work: Callable[[T], R], item: T) -> R:
    return work(item)


def _imported() -> Any:
    try:
        import ray
    except ModuleNotFoundError:
        raise MissingExtra("the Ray executor", "cluster") from None
    return ray


def check_reachable(address: str) -> None:
    """Raise soon where no Ray answers: Ray itself would try for a minute and could not be interrupted."""
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
