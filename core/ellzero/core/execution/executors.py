"""Executors: the interface, and the one that works in this process. Results come as soon as they are ready."""

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
        """How many items are processed at once."""

    @property
    def gpus(self) -> int:
        """How many GPUs the workers can use."""

    def run(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield the results in the order in which they are ready. The first error is raised."""

    def run_stateful(
        self, make: Callable[[], Callable[[T], R]], items: Iterable[T], resources: "WorkerResources"
    ) -> Iterator[R]:
        """Like `run`, with a function that each worker makes once and keeps: one with a model in memory, say."""


@dataclass(frozen=True)
class WorkerResources:
    """What one worker needs of a machine."""

    cores: int = 1
    gpus: int = 0


class LocalExecutor(AbstractContextManager["LocalExecutor"]):
    """Processes items one after the other in this process."""

    workers = 1
    gpus = 0  # a worker in this process finds by itself what there is

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        return None

    def run(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """The results in order."""
        return map(work, items)

    def run_stateful(
        self, make: Callable[[], Callable[[T], R]], items: Iterable[T], resources: WorkerResources
    ) -> Iterator[R]:
        """The results in order, by one worker."""
        return map(make(), items)


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
