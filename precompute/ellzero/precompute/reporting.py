"""Progress of long work: a bar on a terminal, a line now and then in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ellzero.certificates.commands import duration, notice

_SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts ``length`` expected steps; each update says how much is done and at what rate."""

    def __init__(self, length: int, unit: str, bar: "click._termui_impl.ProgressBar[int] | None") -> None:
        self._length = max(1, length)
        self._unit = unit
        self._bar = bar
        self._start = self._said = time.perf_counter()
        self._steps = 0

    def advance(self, steps: int, done: int) -> None:
        """``steps`` of the expected length have passed, and ``done`` real ones are done in all."""
        self._steps = min(self._length, self._steps + steps)
        now = time.perf_counter()
        rate = f"{done:,} {self._unit}, {done / max(1e-9, now - self._start):,.0f}/s"
        if self._bar is not None:
            self._bar.label = rate
            self._bar.update(steps)
        elif now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            share = self._steps / self._length
            left = duration((now - self._start) * (1 - share) / max(share, 1e-9))
            notice(f"{share:.0%}: {rate}, about {left} left")


@contextmanager
def progress_of(length: int, unit: str) -> Iterator[Progress]:
    """A progress bar with rate and ETA on a terminal, otherwise a line every ten seconds."""
    if not sys.stderr.isatty():
        yield Progress(length, unit, None)
        return
    with click.progressbar(length=max(1, length), label=unit, file=sys.stderr, show_eta=True, show_percent=True) as bar:
        yield Progress(length, unit, bar)
