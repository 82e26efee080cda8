"""The commands ``ellzero tables …``."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import IO, Any

import click

from ellzero.certificates import Discrete
from ellzero.cli.certificate_options import K, noise_options
from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_probability
from ellzero.core.progress import notify, track
from ellzero.core.text import count_noun
from ellzero.tables import import_export, lee2019_table
from ellzero.tables.bundled import LOCATION
from ellzero.tables.compaction import compact
from ellzero.tables.errors import NotATable
from ellzero.tables.format import shard
from ellzero.tables.format.rows import ColumnSlice, End
from ellzero.tables.lee2019_table import PaperTable
from ellzero.tables.lookup.index import ThresholdIndex
from ellzero.tables.store import Store
from ellzero.tables.table import Table, read_kind
from ellzero.tables.verification import VerificationReport, audit, compare_tables, judge_list, verify

# Seconds a step of the single-cell route takes, to say what verification will cost.
_SECONDS_A_STEP = 1.2e-6
_MOST_PRINTED = 20
# An error bound is shown rounded up.
_UP = Context(prec=4, rounding=ROUND_CEILING)

_table = click.argument("table", default=str(LOCATION), metavar="[TABLE]")


@click.group(
    "tables", cls=CommandGroup, replacements={"lookup": "ellzero radius --table TABLE --p P --k K --alpha α --d D"}
)
def tables_group() -> None:
    """Look into, check and convert tables of thresholds.

    TABLE is a directory or a URI such as s3://bucket/prefix; without it, the table that ships with ellzero.
    """


@tables_group.command("info", cls=Command)
@_table
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def info_command(table: str, as_json: bool) -> None:
    """Print what a table holds."""
    store = Store(table)
    kind = read_kind(store)
    if kind is None:
        raise NotATable(store.uri, "holds no table")
    names, metadata = store.retry_reading(lambda: _read_first_footer(store))
    facts: dict[str, Any] = {
        "table": store.uri,
        "kind": kind,
        "format": metadata["format"],
        "engine": f"{metadata['engine']} {metadata['version']}",
        "digits": metadata["digits"],
        "conventions": CONVENTIONS_DICT,
        "shards": len(names),
        "bytes": sum(store.size(name) for name in names),
    }
    if kind == lee2019_table.KIND:
        rows = PaperTable(store).rows()
        facts |= {"rows": len(rows), "d": sorted({row.d for row in rows}), "k": sorted({row.noise.k for row in rows})}
    else:
        extents = Table(store).extents()
        ends = Counter(extent.end.value for extent in extents.values())
        facts |= {
            "rows": sum(extent.rows for extent in extents.values()),
            "columns": len(extents),
            "ends": {end.value: ends[end.value] for end in End},
            "k": sorted({noise.k for noise in extents}),
            "alpha": [str(min(noise.alpha for noise in extents)), str(max(noise.alpha for noise in extents))],
        }
    if as_json:
        click.echo(json.dumps(facts))
        return
    click.echo(f"{store.uri}: {kind}, format {facts['format']}, {facts['digits']} digits, by {facts['engine']}")
    click.echo(f"{facts['rows']:,} rows, {facts['bytes']:,} bytes in {count_noun(facts['shards'], 'shard')}")
    click.echo(f"K (categories minus one): {', '.join(map(str, facts['k']))}")
    if kind == lee2019_table.KIND:
        click.echo(f"d: {', '.join(map(str, facts['d']))}")
    else:
        click.echo(f"α (total probability of staying): {facts['alpha'][0]} to {facts['alpha'][1]}")
        ends_text = ", ".join(f"{count:,} {end}" for end, count in facts["ends"].items())
        click.echo(f"{facts['columns']:,} columns: {ends_text}")


@tables_group.command("show", cls=Command)
@_table
@click.option("--k", type=K, help="Only this number of categories minus one.")
@click.option("--alpha", help="Only this total probability of staying; with --k its rows are shown.")
def show_command(table: str, k: int | None, alpha: str | None) -> None:
    """List the columns of a table, or with --k and --alpha the rows of one."""
    if read_kind(Store(table)) == lee2019_table.KIND:
        click.echo(f"{'K':>9} {'α':>10} {'d':>9} {'r':>7}  threshold (paper's algorithm)  at most too high by")
        for paper in PaperTable.open(table).rows():
            key = f"{paper.noise.k:>9} {paper.noise.alpha!s:>10} {paper.d:>9} {paper.r:>7}"
            click.echo(f"{key}  {paper.value}         {_UP.plus(paper.error_bound):.3E}")
        return
    if k is not None and alpha is not None:
        noise = Discrete(k, alpha)
        runs = _read_column(Table.open(table), noise)
        click.echo(f"K = {k} ({k + 1} categories), α = {noise.alpha} (total probability of staying): {runs[-1].end}")
        click.echo(f"{'r':>7}  certified if p exceeds   least double that certifies")
        for run in runs:
            for r in range(run.first, run.stop):
                row = run.threshold(r)
                click.echo(f"{r:>7}  {row.value}   {row.min_p!r}{'   (exact)' if row.exact else ''}")
        return
    noise_filter = Discrete(1 if k is None else k, "1/2" if alpha is None else alpha)  # reads and checks both
    extents = Table.open(table).extents()
    click.echo(f"{'K':>9} {'α':>10} {'rows':>9}  ends")
    for noise, extent in sorted(extents.items(), key=lambda item: (item[0].k, item[0].alpha)):
        if (k is None or noise.k == noise_filter.k) and (alpha is None or noise.alpha == noise_filter.alpha):
            click.echo(f"{noise.k:>9} {noise.alpha!s:>10} {extent.rows:>9,}  {extent.end}")


@tables_group.command("verify", cls=Command)
@_table
@click.option("--share", default="0.01", show_default=True, help="Share of the rows to recompute, from 0 to 1.")
@click.option("--all", "everything", is_flag=True, help="Recompute every row.")
@click.option("--seed", type=IntegerRange(min=0), default=0, show_default=True, help="Seed for choosing the rows.")
@click.option("--against", help="Compare with another table instead: of the paper's algorithm, or of thresholds.")
def verify_command(table: str, share: str, everything: bool, seed: int, against: str | None) -> None:
    """Check a table: digests, conventions, order, monotonicity, and rows recomputed by an independent route.

    The last line is the verdict; the exit code is 1 if anything is wrong.
    """
    opened = Table.open(table)
    if against is not None:
        paper = read_kind(Store(against)) == lee2019_table.KIND
        verdict = (
            audit(PaperTable.open(against).rows(), opened) if paper else compare_tables(opened, Table.open(against))
        )
    else:
        fraction = 1.0 if everything else float(read_probability(share, "share"))
        verdict = verify(opened, fraction, seed, lambda runs: _track_columns(runs, opened, fraction))
    _print_verdict(verdict)


@tables_group.command("compact", cls=Command)
@click.argument("table")
def compact_command(table: str) -> None:
    """Merge the shards of a table into as few as possible. Safe while others read and write it."""
    report = compact(Table.open(table))
    before = f"{count_noun(report.shards_before, 'shard')} of {report.bytes_before:,} bytes"
    click.echo(f"{before} became {count_noun(report.shards_after, 'shard')} of {report.bytes_after:,}")


@tables_group.command("export", cls=Command)
@_table
@click.option("--format", "output", type=click.Choice(["csv", "json", "text"]), default="csv", show_default=True)
@click.option("--k", type=K, help="Only this number of categories minus one.")
@click.option("--alpha", help="Only this total probability of staying.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; standard output by default."
)
def export_command(table: str, output: str, k: int | None, alpha: str | None, out: Path | None) -> None:
    """Write rows as CSV or JSON, or one column as a plain list of r<TAB>threshold (--format text)."""
    opened = Table.open(table)
    if (k is None) != (alpha is None) or (output == "text" and k is None):
        raise click.UsageError(
            "a plain list is of one column: give --k and --alpha"
            if output == "text"
            else "give both --k and --alpha, or neither"
        )
    runs: Iterable[ColumnSlice] = (
        _read_column(opened, Discrete(k, alpha))
        if k is not None and alpha is not None
        else [run for runs in opened.columns().values() for run in runs]
    )
    if output == "text":
        lines = import_export.to_text(runs)
    else:
        lines = import_export.to_csv(runs) if output == "csv" else import_export.to_json(runs)
    with _open_output(out) as sink:
        for line in lines:
            sink.write(line + "\n")


@tables_group.command("import", cls=Command)
@click.argument("file", type=click.File("r", encoding="utf-8"))
@noise_options
@click.option("--into", metavar="TABLE", help="Add the exact rows of these radii, from 0 on, to a table.")
def import_command(file: IO[str], k: int, alpha: str, into: str | None) -> None:
    """Check a threshold list (lines of r<TAB>threshold) against the exact values.

    A header may come first, and then the threshold is in the column named rho or threshold, as in the lists of the
    paper's authors.

    Rows below the exact threshold are unsound: they certify what is not proved. Only exact values ever enter a table.
    The exit code is 1 if any row is unsound.
    """
    noise = Discrete(k, alpha)
    try:
        rows = list(import_export.from_text(file))
    except UnicodeDecodeError:
        raise click.UsageError(f"{file.name} is not a text file") from None
    except InvalidInput as error:
        raise click.UsageError(f"{file.name} is no list of thresholds: {error}") from None
    if not rows:
        raise click.UsageError(f"{file.name} holds no rows")
    judged = judge_list(noise, rows)
    for verdict in ("unsound", "equal", "loose"):
        radii = sorted(row.r for row in judged if row.verdict == verdict)
        shown = ", ".join(map(str, radii[:_MOST_PRINTED])) + (", …" if len(radii) > _MOST_PRINTED else "")
        click.echo(f"{verdict:>8}: {len(radii):,} rows" + (f" (r = {shown})" if radii else ""))
    if into is not None:
        column = ThresholdIndex({}).thresholds(noise, max(r for r, _ in rows)).column
        target = Table.create(into)
        target.append([column])
        notify(f"{len(column.rows):,} exact rows added to {target.store.uri}")
    if unsound := sum(row.verdict == "unsound" for row in judged):
        raise click.ClickException(f"{unsound:,} of {len(rows):,} rows are unsound")


def _read_first_footer(store: Store) -> tuple[list[str], dict[str, Any]]:
    """All shards, and what the first of them says of itself."""
    names = store.names()
    return names, shard.read_metadata(names[0], store.read(names[0]))


def _read_column(table: Table, noise: Discrete) -> list[ColumnSlice]:
    """The rows of one noise, which the table must have."""
    runs = table.column(noise)
    if not runs:
        raise NotATable(table.store.uri, f"has no column K = {noise.k}, α = {noise.alpha}")
    return runs


def _print_verdict(verdict: VerificationReport) -> None:
    for problem in verdict.problems[:_MOST_PRINTED]:
        click.echo(problem)
    if len(verdict.problems) > _MOST_PRINTED:
        click.echo(f"… and {len(verdict.problems) - _MOST_PRINTED:,} more")
    click.echo(str(verdict))
    if not verdict.sound:
        sys.exit(1)


def _track_columns(
    slices: Iterable[tuple[str, ColumnSlice]], table: Table, share: float
) -> Iterator[tuple[str, ColumnSlice]]:
    """The slices, with a progress bar that counts their columns."""
    lengths = [extent.rows for extent in table.extents(on_damage=lambda error: None).values()]
    seconds = sum(rows**2 / 2 * share for rows in lengths) * _SECONDS_A_STEP
    yield from track(slices, len(lengths), "columns", seconds)


@contextmanager
def _open_output(out: Path | None) -> Iterator[IO[str]]:
    if out is None:
        yield sys.stdout
        return
    # Written aside first, so that a file of that name is whole or what it was before; click.open_file(atomic=True)
    # would put a partial file in its place when writing fails.
    scratch = out.with_name(f".{out.name}.part")
    try:
        with scratch.open("w", encoding="utf-8") as sink:
            yield sink
        scratch.replace(out)
    except OSError as error:
        raise click.FileError(str(out), error.strerror) from None
    finally:
        with suppress(OSError):
            scratch.unlink()
