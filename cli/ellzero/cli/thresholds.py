"""The command ``ellzero thresholds``: rows as they are computed, and how they are printed."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import click

from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.exact_thresholds import (
    Threshold,
    column_end,
    estimate_radii,
    iter_column,
    iter_rows,
    threshold_rows,
)
from ellzero.certificates.families.base import Counts, Family
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.lee2019 import PaperCell, combine, sum_range
from ellzero.cli.certificate_options import DIMENSION, RADIUS
from ellzero.cli.family_certificates import BudgetLine, compute_budget_lines, print_thresholds
from ellzero.cli.family_options import BudgetRanges, family_options, list_budgets
from ellzero.cli.lookup_options import check_lookup, lookup_options, notify_computed, open_lookup
from ellzero.cli.parameters import MOST_RADII, Command, IntegerRange, Radii
from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import MAX_DIGITS, read_integer, read_probability
from ellzero.core.progress import announce, notify, track
from ellzero.core.schemas import BudgetThresholdsAnswer, ThresholdsAnswer

DIGITS = 20  # of tables and services, and by default


@click.command("thresholds", cls=Command)
@family_options
@click.option("--r-max", type=RADIUS, help="Radii 0..r-max; without it up to saturation, where all further ones are 1.")
@click.option("--r", type=Radii(), help="Only these radii: 8, 1,4,7 or 1:8.")
@click.option(
    "--budget",
    type=BudgetRanges(),
    help="Other families: these budgets, by their kinds of change: add=0:5,delete=0:3.",
)
@click.option("--q", default="1/2", show_default=True, help="ρ⁻¹(q) in place of ρ⁻¹(1/2).")
@click.option("--d", type=DIMENSION, help="Number of coordinates, which bounds r. The paper's method needs it.")
@click.option(
    "--digits", type=IntegerRange(1, MAX_DIGITS), default=DIGITS, show_default=True, help="Digits after the point."
)
@click.option("--method", type=click.Choice(["engine", "paper"]), default="engine", show_default=True)
@click.option("--workers", type=IntegerRange(min=1), help="Processes for the paper's method; all cores by default.")
@lookup_options()
@click.option("--format", "output", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True)
def thresholds_command(
    family: Family,
    r_max: int | None,
    r: list[int] | None,
    budget: dict[str, tuple[int, int]] | None,
    q: str,
    d: int | None,
    digits: int,
    method: str,
    workers: int | None,
    table: str | None,
    server: str | None,
    output: str,
) -> None:
    """Print the thresholds ρ_r⁻¹(1/2): a probability p certifies radius r iff p exceeds the r-th one.

    Other families than the discrete noise have a threshold for each budget of changes. The decimals are the exact
    values rounded up in the last digit.
    """
    if r is not None and r_max is not None:
        raise click.UsageError("give either --r or --r-max")
    if workers is not None and method != "paper":
        raise click.UsageError("--workers goes with --method paper")
    ask = check_lookup(table, server)
    if ask and (method == "paper" or digits != DIGITS):
        raise click.UsageError(f"--table and --server have {DIGITS} digits, and no --method")
    if not isinstance(family, Discrete) or budget is not None or read_probability(q, "q") != HALF:
        if method == "paper" or workers is not None:
            raise click.UsageError("--method paper is for discrete noise at q = 1/2")
        budgets = _list_budgets(family, budget, r, r_max)
        if d is not None and any(sum(counts) > d for counts in budgets):
            raise click.UsageError(f"no more than d = {d} coordinates can change: name budgets up to that")
        lines = _ask_for_budgets(table, server, family, budgets, q) if ask else None
        print_thresholds(family, lines or compute_budget_lines(family, budgets, q, digits), q, digits, output)
        return
    noise = family
    if d is not None and r_max is not None and r_max > d:
        notify(f"--r-max is cut at d = {d}: no more coordinates can change")
        r_max = d
    rows: Iterable[Line]
    if ask:
        rows = _ask_for_rows(table, server, noise, r if r is None or d is None else _read_radii(r, d), r_max, d)
    elif method == "paper":
        if d is None:
            raise InvalidInput("d", "given for the paper's method, which works on the whole space", d)
        if r is None and r_max is None:
            raise click.UsageError("--method paper needs --r or --r-max")
        radii = range(read_integer(r_max, "r_max", 0, MOST_RADII) + 1) if r is None else r
        rows = paper_rows(noise, d, radii, digits, workers or os.cpu_count() or 1)
    elif r is not None:
        rows = chosen_rows(noise, r if d is None else _read_radii(r, d), digits)
    else:
        rows = column_rows(noise, r_max, d, digits)
    print_rows(rows, noise, digits, method, output)


def _list_budgets(
    family: Family, budget: dict[str, tuple[int, int]] | None, r: list[int] | None, r_max: int | None
) -> list[Counts]:
    """The budgets of --budget, or of --r or --r-max where there is one kind of change."""
    if budget is not None:
        if r is not None or r_max is not None:
            raise click.UsageError("give either --budget, or --r or --r-max")
        return list_budgets(family, budget, "--budget")
    if len(family.axes) > 1:
        raise click.UsageError(f"give --budget, such as --budget {','.join(f'{axis}=0:5' for axis in family.axes)}")
    if r is None and r_max is None:
        raise click.UsageError("give --r, --r-max or --budget")
    radii = range(read_integer(r_max, "r_max", 0, MOST_RADII) + 1) if r is None else r
    return [family.read_budget(each, "--r" if r is not None else "--r-max") for each in radii]


def _read_radii(radii: list[int], d: int) -> list[int]:
    return [read_integer(r, "r", 0, d) for r in radii]


# Seconds; measured as docs/benchmarks.md says, to warn of long work and not to promise anything.
_SECONDS_A_RADIUS = 1e-5
_SECONDS_A_PRODUCT_BIT = 1.6e-11
_WORTH_PROCESSES = 1.0


class Line(NamedTuple):
    """A threshold and what the way it was computed says of it."""

    r: int
    threshold: Decimal
    extra: dict[str, Any]


def column_rows(noise: Discrete, r_max: int | None, d: int | None, digits: int) -> Iterator[Line]:
    """Rows 0..r_max if r_max is not None, otherwise up to saturation or d."""
    end = column_end(noise, d if r_max is None else r_max, digits)
    length = end + 1 if end == r_max else estimate_radii(end)
    seconds = column_seconds(length, digits)
    announce(f"about {length:,} radii", seconds)
    rows = iter_column(noise, end, digits) if r_max is None else iter_rows(noise, r_max, digits)
    return map(_line, track(rows, length, "radii", seconds, streaming=True))


def chosen_rows(noise: Discrete, radii: list[int], digits: int) -> Iterator[Line]:
    """Rows of these radii only."""
    steps = sum(min(r, column_end(noise, None, digits)) for r in radii)
    announce(f"{len(radii)} radii", column_seconds(min(steps // 4, max(radii, default=0)), digits))
    return map(_line, threshold_rows(noise, radii, digits))


def paper_rows(noise: Discrete, d: int, radii: Sequence[int], digits: int, workers: int) -> Iterator[Line]:
    """Rows by the paper's algorithm for inputs of d coordinates, each shared among processes."""
    cells = [PaperCell(noise, d, r) for r in radii]
    bits = d * noise.weights.z.bit_length()
    seconds = sum(d * (r + 1) * (r + 2) * bits * _SECONDS_A_PRODUCT_BIT for r in radii) / workers
    announce(f"the paper's algorithm on {workers} processes", seconds)
    return _paper_computed(cells, digits, workers if seconds > _WORTH_PROCESSES else 1, seconds)


def column_seconds(radii: int, digits: int = 20) -> float:
    """About how long a column takes."""
    return radii * _SECONDS_A_RADIUS * max(1, digits / 50)


def _ask_for_budgets(
    table: str | None, server: str | None, family: Family, budgets: list[Counts], q: str
) -> list[BudgetLine]:
    """Thresholds from a table or a service, which have all budgets within limits."""
    limits = family.write_budget(tuple(map(max, zip(*budgets, strict=True))))
    with open_lookup(table, server) as client:
        answer: BudgetThresholdsAnswer = client.budget_thresholds(family, limits, q=q)
    notify_computed(table, answer.source)
    rows = {family.read_budget(row.budget): row for row in answer.rows}
    return [BudgetLine(counts, rows[counts].threshold, rows[counts].min_p) for counts in budgets]


def _ask_for_rows(
    table: str | None, server: str | None, noise: Discrete, radii: list[int] | None, r_max: int | None, d: int | None
) -> list[Line]:
    """Rows of discrete noise from a table or a service: these radii, 0..r_max, or up to saturation or d."""
    if radii is None and r_max is None:
        with open_lookup(table, server) as client:
            column: ThresholdsAnswer = client.thresholds(k=noise.k, alpha=str(noise.alpha), r_max=d)
        notify_computed(table, column.source)
        return [Line(row.r, row.threshold, {"exact": row.exact, "min_p": row.min_p}) for row in column.rows]
    wanted = radii if radii is not None else list(range((r_max or 0) + 1))
    with open_lookup(table, server) as client:
        answer: BudgetThresholdsAnswer = client.budget_thresholds(noise, max(wanted))
    notify_computed(table, answer.source)
    rows = [answer.rows[r] for r in wanted]
    return [
        Line(r, row.threshold, {"exact": row.exact, "min_p": row.min_p}) for r, row in zip(wanted, rows, strict=True)
    ]


def print_rows(rows: Iterable[Line], noise: Discrete, digits: int, method: str, output: str) -> None:
    """Print row by row, so that a column of any length needs no memory."""
    if output == "csv":
        click.echo("r,threshold")
        for row in rows:
            click.echo(f"{row.r},{row.threshold}")
    elif output == "json":
        head = {
            "k": noise.k,
            "alpha": str(noise.alpha),
            "digits": digits,
            "method": method,
            "conventions": CONVENTIONS_DICT,
        }
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


def _line(row: Threshold) -> Line:
    return Line(row.r, row.value, {"exact": row.exact, "min_p": row.min_p})


def _paper_computed(cells: list[PaperCell], digits: int, workers: int, seconds: float) -> Iterator[Line]:
    with ExitStack() as stack:
        mapper = map if workers == 1 else stack.enter_context(ProcessPoolExecutor(workers)).map
        for cell in cells:
            ranges = cell.ranges()
            sums = track(mapper(partial(sum_range, cell), ranges), len(ranges), f"ranges of r = {cell.r}", seconds)
            row = combine(cell, sums, digits)
            yield Line(row.r, row.value, {"error_bound": str(row.error_bound)})
