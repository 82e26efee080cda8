"""What runs work: the interface, and the executor in this process. Both executors give results as they come."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Executor(AbstractContextManager["Executor"], Protocol):
    """Applies a function to items on its workers."""

    @property
    def workers(self) -> int:
        """How many items are worked on at once."""

    @property
    def gpus(self) -> int:
        """How many GPUs workers can be given."""

    def run(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in the order in which they are ready. The first error ends it."""

    def run_made(
        self, make: Callable[[], Callable[[T], R]], items: Iterable[T], share: "WorkerResources"
    ) -> Iterator[R]:
        """The same with work that each worker makes once, and keeps: a model in memory, say."""


@dataclass(frozen=True)
class WorkerResources:
    """What of a machine one worker takes."""

    cores: int = 1
    gpus: int = 0


class LocalExecutor(AbstractContextManager["LocalExecutor"]):
    """One after the other in this process."""

    workers = 1
    gpus = 0  # what there is, a worker in this process finds by itself

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        return None

    def run(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in order."""
        return map(work, items)

    def run_made(self, make: Callable[[], Callable[[T], R]], items: Iterable[T], share: WorkerResources) -> Iterator[R]:
        """The results in order, by one worker."""
        return map(make(), items)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
