"""Where a command's work runs, as its options say, and how it stops."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.execution.executors import Executor, LocalExecutor, available_cores
from ellzero.core.execution.ray_executor import RayExecutor, check_reachable, has_ray
from ellzero.core.numbers import read_integer
from ellzero.core.progress import notify

# Ray takes seconds to start, so that short work is done before it would be there.
_WORTH_RAY = 20.0


class Placement:
    """Where to run, as the options say."""

    @classmethod
    def of(cls, executor: str, address: str | None, workers: Any) -> "Placement":
        """The place that a command's options name."""
        if executor == "local" and (address is not None or workers is not None):
            raise InvalidInput("executor", "ray or auto where address or workers is given", executor)
        if address is not None and workers is not None:
            raise InvalidInput("workers", "left out where address is given: it starts a Ray of its own", workers)
        return cls(executor, address, None if workers is None else read_integer(workers, "workers", 1, 4_096))

    def __init__(self, executor: str, address: str | None, workers: int | None) -> None:
        self._chosen = executor
        # The variable is set inside a job of a cluster.
        self._address = address or (os.environ.get("RAY_ADDRESS") if workers is None else None)
        self._explicit = address is not None or workers is not None
        self._workers = workers

    @property
    def is_cluster(self) -> bool:
        """Whether there may be several machines."""
        return self._chosen != "local" and self._address is not None

    def check_shared(self, option: str, path: str) -> None:
        """Raise if a path cannot mean the same on all machines."""
        if self.is_cluster and not (Path(path).is_absolute() or "://" in path):
            raise InvalidInput(option, "a whole path or a URI on a cluster, which all its machines reach", path)

    def check(self) -> None:
        """Raise if there is a cluster to go to and it does not answer."""
        if self.is_cluster and self._address is not None:
            check_reachable(self._address)

    def cores(self) -> int:
        """About how many workers there will be, to plan for."""
        return 1 if self._chosen == "local" else self._workers or available_cores()

    def name(self, seconds: float) -> str:
        """Which executor suits work of so many seconds."""
        if self._chosen != "auto":
            return self._chosen
        if self._explicit or self._address is not None:
            return "ray"
        return "ray" if seconds > _WORTH_RAY and self.cores() > 1 and has_ray() else "local"

    def lacks_ray(self, seconds: float) -> bool:
        """Whether Ray would be worth its start, and is not installed."""
        return self._chosen == "auto" and seconds > _WORTH_RAY and self.cores() > 1 and not has_ray()

    def executor(self, seconds: float) -> Executor:
        """That executor."""
        if self.name(seconds) == "local":
            return LocalExecutor()
        return RayExecutor(self._address, self._workers)


@contextmanager
def stops_cleanly(when: Callable[[], str], uri: str) -> Iterator[None]:
    """Ctrl-C, SIGTERM and errors alike say what is kept and how to go on."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except (KeyboardInterrupt, EllzeroError):
        notify(f"stopped {when()}; what was computed is kept in {uri}, and the same command goes on from there")
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
