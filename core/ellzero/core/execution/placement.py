"""Where a command's work runs, by its options, and what is said when it stops early."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.execution.executors import Executor, LocalExecutor, available_cores
from ellzero.core.execution.ray_executor import RayExecutor, check_reachable, has_ray
from ellzero.core.numbers import read_integer
from ellzero.core.progress import notify

# Ray takes seconds to start: shorter work is done sooner without it.
_WORTH_RAY = 20.0


class Placement:
    """Where work runs: in this process, on its own Ray, or on a cluster."""

    @classmethod
    def of(cls, executor: str, address: str | None, workers: Any) -> "Placement":
        """The placement that a command's options describe; raises `InvalidInput` if they contradict each other."""
        if executor == "local" and (address is not None or workers is not None):
            raise InvalidInput("executor", "ray or auto if address or workers is given", executor)
        if address is not None and workers is not None:
            raise InvalidInput("workers", "left out if address is given: it starts its own Ray", workers)
        return cls(executor, address, None if workers is None else read_integer(workers, "workers", 1, 4_096))

    def __init__(self, executor: str, address: str | None, workers: int | None) -> None:
        self._executor = executor
        # Ray sets the variable inside a cluster job.
        self._address = address or (os.environ.get("RAY_ADDRESS") if workers is None else None)
        self._explicit = address is not None or workers is not None
        self._workers = workers

    @property
    def is_cluster(self) -> bool:
        """Whether the work may run on several machines."""
        return self._executor != "local" and self._address is not None

    def check_shared(self, option: str, path: str) -> None:
        """Raise if a path need not mean the same on all machines."""
        if self.is_cluster and not (Path(path).is_absolute() or "://" in path):
            raise InvalidInput(option, "an absolute path or a URI that all machines of the cluster can reach", path)

    def check(self) -> None:
        """Raise if the work is to run on a cluster that does not answer."""
        if self.is_cluster and self._address is not None:
            check_reachable(self._address)

    def cores(self) -> int:
        """About how many workers to plan for."""
        return 1 if self._executor == "local" else self._workers or available_cores()

    def choose_executor(self, seconds: float) -> str:
        """The name of the executor for work that is expected to take so many seconds: "local" or "ray"."""
        if self._executor != "auto":
            return self._executor
        if self._explicit or self._address is not None:
            return "ray"
        return "ray" if seconds > _WORTH_RAY and self.cores() > 1 and has_ray() else "local"

    def lacks_ray(self, seconds: float) -> bool:
        """Whether Ray would be worth starting but is not installed."""
        return self._executor == "auto" and seconds > _WORTH_RAY and self.cores() > 1 and not has_ray()

    @contextmanager
    def open_executor(self, seconds: float, count_kept: Callable[[], str], uri: str) -> Iterator[Executor]:
        """The executor that `choose_executor` names, for a block that writes to ``uri``.

        After Ctrl-C, SIGTERM or an error inside the block, says how much is kept and how to go on. ``count_kept`` is
        called when the executor and its workers have ended, so that none of them writes any more.
        """
        executor: Executor = LocalExecutor()
        if self.choose_executor(seconds) == "ray":
            executor = RayExecutor(self._address, self._workers)
        with ExitStack() as stack:
            executor = stack.enter_context(executor)  # an executor that cannot start has stopped nothing
            running = stack.pop_all()
        with _explain_interruption(count_kept, uri), running:
            yield executor


@contextmanager
def _explain_interruption(count_kept: Callable[[], str], uri: str) -> Iterator[None]:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except (KeyboardInterrupt, EllzeroError):
        notify(
            f"stopped after {count_kept()}; what was computed is kept in {uri}, and the same command resumes the run"
        )
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
