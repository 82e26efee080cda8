"""Tables for other tools: export as CSV, JSON and plain threshold lists, and import of such lists."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from math import isinf
from typing import Any

from ellzero.certificates import Discrete
from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import scaled_decimal
from ellzero.tables.format.keys import ColumnKey, write_family
from ellzero.tables.format.rows import DIGITS, ColumnSlice
from ellzero.tables.format.shard import FORMAT

_CSV_DISCRETE = "k,alpha_num,alpha_den,r,threshold,exact,min_p"
_CSV_BUDGETS = "family,q,budget,threshold,exact,min_p"  # a budget is its counts, with blanks between them
_RADIUS = re.compile(r"\d{1,10}", re.ASCII)
_DECIMAL = re.compile(r"\d{1,4}(\.\d{0,1000})?", re.ASCII)
_NAMES = ("threshold", "rho")  # of the column that has them; the first that a header has
_BETWEEN = re.compile(r"[ ,;]+")
_SKIPPED = re.compile(r"\s*(#.*)?", re.ASCII)


def to_csv(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """A header, then one line per row; all of one layout. A ``min_p`` of inf says that no p does."""
    header: str | None = None
    for run in runs:
        own = _CSV_DISCRETE if isinstance(run.key, Discrete) else _CSV_BUDGETS
        if header is None:
            header = own
            yield own
        elif own != header:
            raise InvalidInput("family", "given: this table has columns of the discrete noise and of others", None)
        for count in range(run.first, run.stop):
            row = run.row(count)
            value = scaled_decimal(row.ceiling.units, DIGITS)
            yield f"{_csv_key(run.key, count)},{value},{str(row.ceiling.exact).lower()},{row.min_p!r}"
    if header is None:
        yield _CSV_DISCRETE


def to_json(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """One object: the conventions once, then each column with its rows. Thresholds are strings, so none is rounded.

    A ``min_p`` of null says that no p does.
    """
    head = {"format": FORMAT, "digits": DIGITS, "conventions": CONVENTIONS_DICT}
    yield json.dumps(head)[:-1] + ', "columns": ['
    comma = ""
    for run in runs:
        rows = [run.row(count) for count in range(run.first, run.stop)]
        column = {
            **_describe(run.key),
            "first": run.first,
            "end": run.end.value,
            "threshold": [str(scaled_decimal(row.ceiling.units, DIGITS)) for row in rows],
            "exact": [row.ceiling.exact for row in rows],
            "min_p": [None if isinf(row.min_p) else row.min_p for row in rows],
        }
        yield comma + json.dumps(column)
        comma = ","
    yield "]}"


def to_text(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """A plain threshold list of one noise: ``r<TAB>threshold``, or the counts of a budget with commas between them."""
    for run in runs:
        for count in range(run.first, run.stop):
            counts = (count,) if isinstance(run.key, Discrete) else run.key.counts(count)
            yield f"{','.join(map(str, counts))}\t{scaled_decimal(run.row(count).ceiling.units, DIGITS)}"


def _csv_key(key: ColumnKey, count: int) -> str:
    if isinstance(key, Discrete):
        return f"{key.k},{key.alpha.numerator},{key.alpha.denominator},{count}"
    quoted = write_family(key.family).replace('"', '""')
    return f'"{quoted}",{key.q},{" ".join(map(str, key.counts(count)))}'


def _describe(key: ColumnKey) -> dict[str, Any]:
    if isinstance(key, Discrete):
        return {"k": key.k, "alpha": str(key.alpha)}
    return {"family": key.family.describe(), "q": str(key.q), "fixed": list(key.fixed)}


def from_text(source: Iterable[str]) -> Iterator[tuple[int, Decimal]]:
    """The rows of a threshold list: a radius and a decimal in each line, with a tab, blanks or a comma between them.

    A header may come first, and then there may be more columns: the decimal is in the one whose name contains "rho" or
    "threshold". The lists of the paper's authors have ``r``, ``rho_r^{-1}(0.5)`` and ``err``.
    """
    place: int | None = None  # of the decimal, below a header
    first = True
    for number, line in enumerate(source, 1):
        text = line.strip()
        if _SKIPPED.fullmatch(text):
            continue
        if first and not text[0].isdigit():
            place = _find_column(text, number)
        else:
            yield _read_row(text, number, place)
        first = False


def _find_column(header: str, number: int) -> int:
    names = [name for word in header.split("\t") for name in _BETWEEN.split(word.strip())]
    for wanted in _NAMES:
        for place, name in enumerate(names):
            if place and wanted in name.lower():
                return place
    allowed = "a radius and a decimal, or a header with a column named rho or threshold"
    raise InvalidInput(f"line {number}", allowed, header)


def _read_row(text: str, number: int, place: int | None) -> tuple[int, Decimal]:
    cells = [cell.strip() for cell in text.split("\t")] if "\t" in text else _BETWEEN.split(text)
    if len(cells) == 2 if place is None else len(cells) > place:
        r, value = cells[0], cells[1 if place is None else place]
        if _RADIUS.fullmatch(r) and _DECIMAL.fullmatch(value):
            return int(r), Decimal(value)
    raise InvalidInput(f"line {number}", "a radius and a decimal such as 7<TAB>0.98739814896523242496", text)
