"""Lists of thresholds for a terminal or a pipe: rows as they are computed, and how they are printed."""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from decimal import Decimal
from functools import partial as bind
from typing import Any, NamedTuple

import click

from ellzero.certificates.commands import announce, progress
from ellzero.certificates.engine import Threshold, column_end, iter_column, iter_rows, threshold_rows
from ellzero.certificates.noise import Noise
from ellzero.certificates.paper import PaperCell, combine, partial

CONVENTIONS = {
    "k": "number of categories minus one",
    "alpha": "total probability of staying",
    "r": "at most r coordinates changed",
}
# Seconds; measured as docs/benchmarks.md says, to warn of long work and not to promise anything.
_SECONDS_A_RADIUS = 1e-5
_SECONDS_A_PRODUCT_BIT = 1.6e-11
_WORTH_PROCESSES = 1.0


class Line(NamedTuple):
    """A threshold and what the way it was computed says of it."""

    r: int
    threshold: Decimal
    extra: dict[str, Any]


def column_rows(noise: Noise, r_max: int | None, d: int | None, digits: int) -> Iterator[Line]:
    """Rows 0..r_max if that was asked for, otherwise up to saturation or d."""
    end = column_end(noise, d if r_max is None else r_max, digits)
    length = end + 1 if end == r_max else likely_radii(end)
    seconds = column_seconds(length, digits)
    announce(f"about {length:,} radii", seconds)
    rows = iter_column(noise, end, digits) if r_max is None else iter_rows(noise, r_max, digits)
    return _streamed(progress(rows, length, "radii", seconds, streaming=True))


def chosen_rows(noise: Noise, radii: list[int], digits: int) -> Iterator[Line]:
    """Rows of these radii only."""
    steps = sum(min(r, column_end(noise, None, digits)) for r in radii)
    announce(f"{len(radii)} radii", column_seconds(min(steps // 4, max(radii, default=0)), digits))
    return map(_line, threshold_rows(noise, radii, digits))


def paper_rows(noise: Noise, d: int, radii: Sequence[int], digits: int, workers: int) -> Iterator[Line]:
    """Rows by the paper's algorithm for inputs of d coordinates, each shared among processes."""
    cells = [PaperCell(noise, d, r) for r in radii]
    bits = d * noise.weights.z.bit_length()
    seconds = sum(d * (r + 1) * (r + 2) * bits * _SECONDS_A_PRODUCT_BIT for r in radii) / workers
    announce(f"the paper's algorithm on {workers} processes", seconds)
    return _paper_computed(cells, digits, workers if seconds > _WORTH_PROCESSES else 1, seconds)


def column_seconds(radii: int, digits: int = 20) -> float:
    """About how long a column takes."""
    return radii * _SECONDS_A_RADIUS * max(1, digits / 50)


def likely_radii(bound: int) -> int:
    """About where a column ends whose end is proved to lie within the bound, which is twice too large."""
    return int(0.46 * bound) + 1


def print_rows(rows: Iterable[Line], noise: Noise, digits: int, method: str, output: str) -> None:
    """Print row by row, so that a column of any length needs no memory."""
    if output == "csv":
        click.echo("r,threshold")
        for row in rows:
            click.echo(f"{row.r},{row.threshold}")
    elif output == "json":
        head = {"k": noise.k, "alpha": str(noise.alpha), "digits": digits, "method": method, "conventions": CONVENTIONS}
        click.echo(json.dumps(head)[:-1] + ', "rows": [', nl=False)
        for index, row in enumerate(rows):
            text = json.dumps({"r": row.r, "threshold": str(row.threshold), **row.extra})
            click.echo((",\n" if index else "\n") + text, nl=False)
        click.echo("\n]}")
    else:
        click.echo(f"K = {noise.k} ({noise.k + 1} categories), α = {noise.alpha} (total probability of staying)")
        click.echo(f"{'r':>7}  certified if p exceeds")
        for row in rows:
            note = f"  (at most {row.extra['error_bound']} too high)" if "error_bound" in row.extra else ""
            click.echo(f"{row.r:>7}  {row.threshold}{note}")


def _streamed(bar: AbstractContextManager[Iterable[Threshold]]) -> Iterator[Line]:
    with bar as rows:
        yield from map(_line, rows)


def _line(row: Threshold) -> Line:
    return Line(row.r, row.value, {"exact": row.exact, "min_p": row.min_p})


def _paper_computed(cells: list[PaperCell], digits: int, workers: int, seconds: float) -> Iterator[Line]:
    with ExitStack() as stack:
        mapper = map if workers == 1 else stack.enter_context(ProcessPoolExecutor(workers)).map
        for cell in cells:
            ranges = cell.ranges()
            with progress(mapper(bind(partial, cell), ranges), len(ranges), f"r = {cell.r}", seconds) as parts:
                found = combine(cell, parts, digits)
            yield Line(found.r, found.value, {"error_bound": str(found.error_bound)})
