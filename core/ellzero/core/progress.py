"""Progress of long work: a live bar on a terminal; otherwise a line every ten seconds, even before a step ends."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from ellzero.core.text import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress, TaskID

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0
_WORTH_ANNOUNCING = 5.0
_WORTH_SHOWING = 1.0
_SLOW = 2.0  # steps a second, below which steps a minute say more


def notify(text: str) -> None:
    """Print a line to the standard error, so that it does not mix with the output."""
    print(f"ellzero: {text}", file=sys.stderr, flush=True)  # noqa: T201


def announce(what: str, seconds: float) -> None:
    """Say how long the work will take, if that is worth saying."""
    if seconds > _WORTH_ANNOUNCING:
        notify(f"{what}: about {format_duration(seconds)}")


class Progress:
    """Counts steps out of an expected ``total``. Made by `show_progress`."""

    def __init__(self, total: float, unit: str, expected_seconds: float | None = None) -> None:
        self._total = max(1e-9, total)
        self._unit = unit
        self._expected_seconds = expected_seconds
        self._start = time.perf_counter()
        self._steps = 0.0
        self._done: int | None = None

    def advance(self, steps: float = 1, done: int | None = None) -> None:
        """Count ``steps`` more of the expected total; ``done`` is the real count so far, if it differs."""
        self._steps = min(self._total, self._steps + steps)
        self._done = done

    @property
    def share(self) -> float:
        return self._steps / self._total

    def describe(self) -> str:
        """How much is done, and at what rate."""
        elapsed = time.perf_counter() - self._start
        done = round(self._steps) if self._done is None else self._done
        rate = done / max(1e-9, elapsed)
        speed = f"{rate:,.0f}/s" if rate >= _SLOW or not done else f"{60 * rate:,.1f}/min"
        return f"{done:,} {self._unit}, {speed}"

    def seconds_left(self) -> float | None:
        """An estimate from the rate so far, or from the expected time while no step has ended; None without either."""
        elapsed = time.perf_counter() - self._start
        if self._steps > 0:
            return elapsed * (1 - self.share) / self.share
        return None if self._expected_seconds is None else max(0.0, self._expected_seconds - elapsed)


class _Bar(Progress):
    """Progress shown as a bar on a terminal."""

    def __init__(self, total: float, unit: str, expected_seconds: float | None, bar: "RichProgress") -> None:
        super().__init__(total, unit, expected_seconds)
        self._bar = bar
        self._task: TaskID = bar.add_task(unit, total=self._total)

    def advance(self, steps: float = 1, done: int | None = None) -> None:
        super().advance(steps, done)
        self._bar.update(self._task, completed=self._steps, description=self.describe())


@contextmanager
def show_progress(total: float, unit: str, expected_seconds: float | None = None) -> Iterator[Progress]:
    """Show a bar with rate and time left on a terminal; otherwise print a line every ten seconds, from a thread.

    Before the first step has ended, the time left is estimated from ``expected_seconds``.
    """
    if sys.stderr.isatty():
        with _rich_bar() as bar:
            yield _Bar(total, unit, expected_seconds, bar)
        return
    progress = Progress(total, unit, expected_seconds)
    over = threading.Event()
    thread = threading.Thread(target=_print_lines, args=(progress, over), name="ellzero-progress", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        over.set()
        thread.join()


def track(items: Iterable[T], total: float, unit: str, seconds: float, *, streaming: bool = False) -> Iterator[T]:
    """Yield the items, with progress if they are expected to take more than a second.

    Results that stream to the terminal are their own progress, and a bar would break them up.
    """
    if seconds <= _WORTH_SHOWING or (streaming and sys.stdout.isatty()):
        yield from items
        return
    with show_progress(total, unit, seconds) as progress:
        for item in items:
            yield item
            progress.advance()


def _print_lines(progress: Progress, over: threading.Event) -> None:
    while not over.wait(_SECONDS_BETWEEN_LINES):
        left = progress.seconds_left()
        about = "" if left is None else f", about {format_duration(left)} left"
        notify(f"{progress.share:.0%}: {progress.describe()}{about}")


def _rich_bar() -> "RichProgress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress as Bar, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
