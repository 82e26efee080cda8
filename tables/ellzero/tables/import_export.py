"""Tables for other tools: export as CSV, JSON and plain threshold lists, and import of such lists."""

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from ellzero.core.conventions import CONVENTIONS_DICT
from ellzero.core.errors import InvalidInput
from ellzero.tables.format.rows import DIGITS, ColumnSlice
from ellzero.tables.format.shard import FORMAT

_ROW = r"(?P<r>\d{1,10})[\t ,;]+%s(?P<value>\d{1,4}(\.\d{0,1000})?)%s"
_LINE = re.compile(_ROW % ("", ""), re.ASCII)
# Below a header of three columns or more the third one has the thresholds, as in the lists that the paper's code reads.
_HEADER = re.compile(r"[^\d\s#-][^\t ,;]*([\t ,;]+[^\t ,;]+){2,}", re.ASCII)
_WIDE_LINE = re.compile(_ROW % (r"[^\t ,;]+[\t ,;]+", r"([\t ,;].*)?"), re.ASCII)
_SKIPPED = re.compile(r"\s*(#.*)?|r[\t ,;]+threshold", re.ASCII)


def to_csv(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """A header, then one line per row."""
    yield "k,alpha_num,alpha_den,r,threshold,exact,min_p"
    for run in runs:
        key = f"{run.noise.k},{run.noise.alpha.numerator},{run.noise.alpha.denominator}"
        for r in range(run.first, run.stop):
            row = run.threshold(r)
            yield f"{key},{r},{row.value},{str(row.exact).lower()},{row.min_p!r}"


def to_json(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """One object: the conventions once, then each column with its rows. Thresholds are strings, so none is rounded."""
    head = {"format": FORMAT, "digits": DIGITS, "conventions": CONVENTIONS_DICT}
    yield json.dumps(head)[:-1] + ', "columns": ['
    comma = ""
    for run in runs:
        column = {"k": run.noise.k, "alpha": str(run.noise.alpha), "first": run.first, "end": run.end.value}
        rows = [run.threshold(r) for r in range(run.first, run.stop)]
        lists = {
            "threshold": [str(row.value) for row in rows],
            "exact": [row.exact for row in rows],
            "min_p": [row.min_p for row in rows],
        }
        yield comma + json.dumps(column | lists)
        comma = ","
    yield "]}"


def to_text(runs: Iterable[ColumnSlice]) -> Iterator[str]:
    """A plain threshold list of one column: ``r<TAB>threshold``."""
    for run in runs:
        for r in range(run.first, run.stop):
            yield f"{r}\t{run.threshold(r).value}"


def from_text(source: Iterable[str]) -> Iterator[tuple[int, Decimal]]:
    """The rows of a threshold list: a radius and a decimal in each line, with a tab, blanks or a comma between them.

    Below a header of three columns or more, such as that of the paper's own lists, the decimal is in the third column.
    """
    line_pattern: re.Pattern[str] | None = None
    for number, line in enumerate(source, 1):
        if _SKIPPED.fullmatch(line.rstrip("\r\n")):
            continue
        if line_pattern is None:  # the first line that says something
            wide = _HEADER.fullmatch(line.strip())
            line_pattern = _WIDE_LINE if wide else _LINE
            if wide:
                continue
        row = line_pattern.fullmatch(line.strip())
        if row is None:
            raise InvalidInput(
                f"line {number}", "a radius and a decimal such as 7<TAB>0.98739814896523242496", line.strip()
            )
        yield int(row["r"]), Decimal(row["value"])
