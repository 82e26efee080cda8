"""The commands ``ellzero tables …``."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import click

from ellzero.certificates import Discrete, Family
from ellzero.certificates.budget_thresholds import HALF
from ellzero.cli.certificate_options import noise_options
from ellzero.cli.column_filter import ColumnFilter, column_filter
from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.cli.table_listing import list_facts, print_budgets, print_columns, print_radii
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
from ellzero.tables.format.keys import BudgetColumn, ColumnKey
from ellzero.tables.format.rows import ColumnSlice
from ellzero.tables.lee2019_table import PaperTable
from ellzero.tables.lookup.index import ThresholdIndex
from ellzero.tables.store import Store
from ellzero.tables.table import Table, read_kind
from ellzero.tables.verification import VerificationReport, audit, compare_tables, judge_list, verify

# Seconds a step of the single-cell route takes, to say what verification will cost.
_SECONDS_A_STEP = 1.2e-6
_SECONDS_A_BUDGET = 3e-4  # by the general product, from the beginning
_SHARE = "0.01"
_MOST_PRINTED = 20
# An error bound is shown rounded up.
_UP = Context(prec=4, rounding=ROUND_CEILING)

_table = click.argument("table", default=str(LOCATION), metavar="[TABLE]")
_file = click.Path(dir_okay=False, path_type=Path)


def _recomputing(command: Callable[..., None]) -> Callable[..., None]:
    """--share, --all and --seed: which rows are recomputed."""
    for option in (
        click.option(
            "--seed", type=IntegerRange(min=0), default=0, show_default=True, help="Seed for choosing the rows."
        ),
        click.option("--all", "everything", is_flag=True, help="Recompute every row."),
        click.option("--share", help=f"Share of the rows to recompute, from 0 to 1.  [default: {_SHARE}]"),
    ):
        command = option(command)
    return command


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
        facts |= list_facts(Table(store).extents())
    if as_json:
        click.echo(json.dumps(facts))
        return
    click.echo(f"{store.uri}: {kind}, format {facts['format']}, {facts['digits']} digits, by {facts['engine']}")
    click.echo(f"{facts['rows']:,} rows, {facts['bytes']:,} bytes in {count_noun(facts['shards'], 'shard')}")
    if "k" in facts:
        click.echo(f"K (categories minus one): {', '.join(map(str, facts['k']))}")
    if kind == lee2019_table.KIND:
        click.echo(f"d: {', '.join(map(str, facts['d']))}")
        return
    if "alpha" in facts:
        click.echo(f"α (total probability of staying): {facts['alpha'][0]} to {facts['alpha'][1]}")
    if "families" in facts:
        named = (f"{count:,} {name}" for name, count in facts["families"].items())
        click.echo(f"noises of other families, at one q each: {', '.join(named)}")
    ends_text = ", ".join(f"{count:,} {end}" for end, count in facts["ends"].items())
    click.echo(f"{facts['columns']:,} columns: {ends_text}")


@tables_group.command("show", cls=Command)
@_table
@column_filter
def show_command(table: str, wanted: ColumnFilter) -> None:
    """List the columns of a table, or the rows of one noise: with --k and --alpha, or --family and its parameters."""
    if read_kind(Store(table)) == lee2019_table.KIND:
        click.echo(f"{'K':>9} {'α':>10} {'d':>9} {'r':>7}  threshold (paper's algorithm)  at most too high by")
        for paper in PaperTable.open(table).rows():
            key = f"{paper.noise.k:>9} {paper.noise.alpha!s:>10} {paper.d:>9} {paper.r:>7}"
            click.echo(f"{key}  {paper.value}         {_UP.plus(paper.error_bound):.3E}")
        return
    opened = Table.open(table)
    if wanted.noise is not None:
        print_radii(wanted.noise, _read_column(opened, wanted.noise))
        return
    extents = {key: extent for key, extent in opened.extents().items() if wanted.matches(key)}
    budgets = {(key.family, key.q) for key in extents if isinstance(key, BudgetColumn)}
    if wanted.is_of_one_family and len(budgets) == 1 and not any(isinstance(key, Discrete) for key in extents):
        ((family, q),) = budgets
        print_budgets(family, q, _read_runs(opened, wanted))
        return
    print_columns(extents)


@tables_group.command("verify", cls=Command)
@_table
@_recomputing
@click.option("--against", help="Compare with another table instead: of the paper's algorithm, or of thresholds.")
@click.option(
    "--manifest",
    type=_file,
    help="Check that the shards are those of a signed manifest; rows are recomputed only with --share or --all.",
)
@click.option("--public-key", type=_file, help="PEM file of the key that must have signed the manifest.")
def verify_command(
    table: str,
    share: str | None,
    everything: bool,
    seed: int,
    against: str | None,
    manifest: Path | None,
    public_key: Path | None,
) -> None:
    """Check a table: digests, conventions, order, monotonicity, and rows recomputed by an independent route.

    The last line is the verdict; the exit code is 1 if anything is wrong.
    """
    if against is not None and manifest is not None:
        raise click.UsageError("give either --against or --manifest, not both")
    if public_key is not None and manifest is None:
        raise click.UsageError("--public-key is of a manifest: give --manifest too")
    opened = Table.open(table)
    if manifest is not None:
        _check_manifest(opened, manifest, public_key)
        if share is None and not everything:
            return
    if against is not None:
        paper = read_kind(Store(against)) == lee2019_table.KIND
        verdict = (
            audit(PaperTable.open(against).rows(), opened) if paper else compare_tables(opened, Table.open(against))
        )
    else:
        verdict = _verify_rows(opened, share, everything, seed)
    _print_verdict(verdict)


@tables_group.command("sign", cls=Command)
@click.argument("table")
@click.option("--key", type=_file, help="PEM file of an Ed25519 private key.")
@click.option("--new-key", type=_file, help="Make a key first, KEY.pem, and its public key beside it, KEY.pub.pem.")
@click.option("--out", type=_file, required=True, help="File to write: the signed manifest.")
@_recomputing
def sign_command(
    table: str, key: Path | None, new_key: Path | None, out: Path, share: str | None, everything: bool, seed: int
) -> None:
    """Verify a table and sign a manifest of it, by which others see that its rows are yours.

    The manifest is of the shards as they are now: after adding rows or compacting, sign again. Nothing is signed if
    anything is wrong with the table.
    """
    from ellzero.core.signing_keys import create_key, fingerprint, read_private_key
    from ellzero.tables.signed_manifest import sign_report

    opened = Table.open(table)
    if key is not None and new_key is None:
        private = read_private_key(key)
    elif new_key is not None and key is None:
        private = create_key(new_key)
    else:
        raise click.UsageError("give either --key or --new-key")
    verdict = _verify_rows(opened, share, everything, seed)
    _print_verdict(verdict)
    with _open_output(out) as sink:
        sink.write(sign_report(verdict, private).decode("ascii"))
    notify(f"signed with the key {fingerprint(private.public_key())}: {out}")


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
@column_filter
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write; standard output by default."
)
def export_command(table: str, output: str, wanted: ColumnFilter, out: Path | None) -> None:
    """Write rows as CSV or JSON, or those of one noise as a plain list of r<TAB>threshold (--format text)."""
    opened = Table.open(table)
    if wanted.name == Discrete.name and wanted.noise is None and wanted.q is None:
        raise click.UsageError("give both --k and --alpha, or neither")
    runs = _read_column(opened, wanted.noise) if wanted.noise is not None else _read_runs(opened, wanted)
    if output == "csv" and len({isinstance(run.key, Discrete) for run in runs}) > 1:
        raise click.UsageError("this table has the discrete noise and others: give --family, or --format json")
    if output == "text" and len({_noise_of(run.key) for run in runs}) != 1:
        raise click.UsageError("a plain list is of one column: give --k and --alpha, or --family and its parameters")
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


def _read_runs(table: Table, wanted: ColumnFilter) -> list[ColumnSlice]:
    """The rows of all columns that are wanted, which the table must have."""
    runs = [run for key, own in table.columns().items() if wanted.matches(key) for run in own]
    if not runs:
        raise NotATable(table.store.uri, "has no such column")
    return runs


def _noise_of(key: ColumnKey) -> tuple[Family, Fraction]:
    return (key, HALF) if isinstance(key, Discrete) else (key.family, key.q)


def _verify_rows(table: Table, share: str | None, everything: bool, seed: int) -> VerificationReport:
    fraction = 1.0 if everything else float(read_probability(_SHARE if share is None else share, "share"))
    return verify(table, fraction, seed, lambda runs: _track_columns(runs, table, fraction))


def _check_manifest(table: Table, path: Path, public_key: Path | None) -> None:
    """Print whether the shards are those of a signed manifest, and whose key signed it; exit with 1 if they are not."""
    from ellzero.core.signing_keys import fingerprint, read_public_key
    from ellzero.tables.signed_manifest import check_manifest, read_manifest

    manifest = read_manifest(path, None if public_key is None else read_public_key(public_key))
    problems = check_manifest(table, manifest)
    signer = fingerprint(manifest.key)
    _print_problems(problems)
    if public_key is None:
        click.echo(f"anybody could have signed this, with the key {signer}: give --public-key to say whose it must be")
    if problems:
        click.echo(f"NOT AS SIGNED: {count_noun(len(problems), 'problem')} with the shards of {path}")
        sys.exit(1)
    signed = f"{count_noun(manifest.rows, 'row')} in {count_noun(len(manifest.digests), 'shard')}"
    click.echo(
        f"as signed: {signed}, by ellzero {manifest.version} with the key {signer}; they are the signer's, so none has "
        "to be recomputed"
    )


def _print_problems(problems: list[str]) -> None:
    for problem in problems[:_MOST_PRINTED]:
        click.echo(problem)
    if len(problems) > _MOST_PRINTED:
        click.echo(f"… and {len(problems) - _MOST_PRINTED:,} more")


def _print_verdict(verdict: VerificationReport) -> None:
    _print_problems(verdict.problems)
    click.echo(str(verdict))
    if not verdict.sound:
        sys.exit(1)


def _track_columns(
    slices: Iterable[tuple[str, ColumnSlice]], table: Table, share: float
) -> Iterator[tuple[str, ColumnSlice]]:
    """The slices, with a progress bar that counts their columns."""
    extents = table.extents(on_damage=lambda error: None)
    steps = sum(extent.rows**2 / 2 for key, extent in extents.items() if isinstance(key, Discrete))
    budgets = sum(extent.rows for key, extent in extents.items() if isinstance(key, BudgetColumn))
    seconds = share * (steps * _SECONDS_A_STEP + budgets * _SECONDS_A_BUDGET)
    yield from track(slices, len(extents), "columns", seconds)


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
