"""What ``ellzero tables info`` and ``show`` print of columns."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from math import isinf
from typing import Any

import click

from ellzero.certificates import Discrete, Family
from ellzero.core.numbers import scaled_decimal
from ellzero.core.text import count_noun
from ellzero.tables.format.keys import BudgetColumn, ColumnKey, order_of
from ellzero.tables.format.layouts import layout_of
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End
from ellzero.tables.table import Extent


def list_facts(extents: Mapping[ColumnKey, Extent]) -> dict[str, Any]:
    """What a table has, in numbers: rows, columns, K and α of the discrete noise, and how many of other families."""
    ends = Counter(extent.end.value for extent in extents.values())
    discrete = [key for key in extents if isinstance(key, Discrete)]
    families = Counter(family.name for family, _ in _group(extents))
    facts: dict[str, Any] = {
        "format": max((layout_of(key).version for key in extents), default=None),
        "rows": sum(extent.rows for extent in extents.values()),
        "columns": len(extents),
        "ends": {end.value: ends[end.value] for end in End},
    }
    if discrete:
        alphas = [noise.alpha for noise in discrete]
        facts |= {"k": sorted({noise.k for noise in discrete}), "alpha": [str(min(alphas)), str(max(alphas))]}
    return facts | ({"families": dict(sorted(families.items()))} if families else {})


def print_columns(extents: Mapping[ColumnKey, Extent]) -> None:
    """A line for each column of the discrete noise, and one for each other family and q."""
    discrete = {key: extent for key, extent in extents.items() if isinstance(key, Discrete)}
    groups = _group(extents)
    if discrete or not groups:
        click.echo(f"{'K':>9} {'α':>10} {'rows':>9}  ends")
    for noise, extent in sorted(discrete.items(), key=lambda item: order_of(item[0])):
        click.echo(f"{noise.k:>9} {noise.alpha!s:>10} {extent.rows:>9,}  {extent.end}")
    for (family, q), own in sorted(groups.items(), key=lambda item: order_of(item[1][0])):
        rows = sum(extents[key].rows for key in own)
        ends = [max(counts) for counts in zip(*(key.counts(extents[key].rows - 1) for key in own), strict=True)]
        reach = ", ".join(f"{axis} ≤ {most}" for axis, most in zip(family.axes, ends, strict=True))
        click.echo(f"{family!r}, q = {q}: {count_noun(rows, 'row')} of {count_noun(len(own), 'column')}, {reach}")


def print_radii(noise: Discrete, runs: list[ColumnSlice]) -> None:
    """The rows of one column of the discrete noise."""
    categories = f"K = {noise.k} ({noise.k + 1} categories)"
    click.echo(f"{categories}, α = {noise.alpha} (total probability of staying): {runs[-1].end}")
    click.echo(f"{'r':>7}  certified if p exceeds   least double that certifies")
    for run in runs:
        for r in range(run.first, run.stop):
            row = run.threshold(r)
            click.echo(f"{r:>7}  {row.value}   {row.min_p!r}{'   (exact)' if row.exact else ''}")


def print_budgets(family: Family, q: Fraction, runs: list[ColumnSlice]) -> None:
    """The rows of one family at one q. After the last of a column, all thresholds round up to 1 if it says so."""
    widths = [max(7, len(axis)) for axis in family.axes]
    click.echo(f"{family!r}, q = {q}")
    names = "  ".join(f"{axis:>{width}}" for axis, width in zip(family.axes, widths, strict=True))
    click.echo(f"{names}  certified if p exceeds   least double that certifies")
    for run in runs:
        for count in range(run.first, run.stop):
            row, counts = run.row(count), run.key.counts(count) if isinstance(run.key, BudgetColumn) else (count,)
            shown = "  ".join(f"{each:>{width}}" for each, width in zip(counts, widths, strict=True))
            least = "no p does" if isinf(row.min_p) else repr(row.min_p)
            value = scaled_decimal(row.ceiling.units, DIGITS)
            click.echo(f"{shown}  {value}   {least}{'   (exact)' if row.ceiling.exact else ''}")


def _group(extents: Mapping[ColumnKey, Extent]) -> dict[tuple[Family, Fraction], list[BudgetColumn]]:
    """The columns of each family and q that begin at 0, in their order."""
    groups: dict[tuple[Family, Fraction], list[BudgetColumn]] = defaultdict(list)
    for key in sorted(extents, key=order_of):
        if isinstance(key, BudgetColumn) and extents[key].rows:
            groups[key.family, key.q].append(key)
    return groups
