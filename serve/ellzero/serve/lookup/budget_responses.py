"""Thresholds of budgets as JSON, CSV or an Arrow stream."""

import csv
import json
from dataclasses import asdict
from fractions import Fraction
from io import StringIO
from math import isinf

import pyarrow as pa
from starlette.responses import Response

from ellzero.certificates import Family
from ellzero.certificates.families.base import Counts
from ellzero.core.conventions import BUDGET_CONVENTIONS
from ellzero.core.numbers import scaled_decimal
from ellzero.serve.platform.responses import JsonResponse
from ellzero.tables.format.rows import DIGITS
from ellzero.tables.lookup.budget_queries import answer_budget_rows
from ellzero.tables.lookup.results import BudgetRows

CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
_CONVENTIONS = "; ".join(f"{name}: {text}" for name, text in asdict(BUDGET_CONVENTIONS).items())
_HEADERS = {"ellzero-conventions": _CONVENTIONS.encode("ascii", "replace").decode()}


def write_budget_rows(family: Family, limits: Counts, q: Fraction, result: BudgetRows, media_type: str) -> Response:
    """Return rows as a response: a column for each kind of change, then threshold, exact and min_p.

    ``min_p`` is empty in CSV and null elsewhere where no p certifies the budget.
    """
    headers = {"ellzero-source": result.source, **_HEADERS}
    if media_type == CSV:
        return Response(_write_csv(family, result), 200, headers, CSV)
    if media_type == ARROW:
        return Response(_write_arrow(family, q, result), 200, headers, ARROW)
    return JsonResponse(answer_budget_rows(family, limits, q, result))


def _write_csv(family: Family, result: BudgetRows) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*family.axes, "threshold", "exact", "min_p"])
    for row in result.rows:
        threshold = f"{scaled_decimal(row.scaled_ceiling, DIGITS):f}"
        least = "" if isinf(row.min_p) else repr(row.min_p)
        writer.writerow([*row.counts, threshold, str(row.exact).lower(), least])
    return text.getvalue()


def _write_arrow(family: Family, q: Fraction, result: BudgetRows) -> bytes:
    rows = result.rows
    arrays = [pa.array([row.counts[axis] for row in rows], pa.int64()) for axis in range(len(family.axes))]
    arrays += [
        pa.array([scaled_decimal(row.scaled_ceiling, DIGITS) for row in rows], pa.decimal128(DIGITS + 1, DIGITS)),
        pa.array([row.exact for row in rows], pa.bool_()),
        pa.array([None if isinf(row.min_p) else row.min_p for row in rows], pa.float64()),
    ]
    described = {"family": json.dumps(family.describe()), "q": str(q), "conventions": _CONVENTIONS}
    table = pa.Table.from_arrays(arrays, names=[*family.axes, "threshold", "exact", "min_p"])
    table = table.replace_schema_metadata(described)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
