"""How columns are laid out in Parquet: those of the discrete noise by K and α, those of other families by budget.

Each layout is a version of the format, and says in the footer what its rows are.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from ellzero.certificates import Discrete, make_family
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_exact, read_integer
from ellzero.tables.format.keys import BudgetColumn, ColumnKey, write_family
from ellzero.tables.format.rows import DIGITS, ColumnSlice, End, end_of

LARGEST_COUNT = 2**31 - 1
_VALUES = (
    pa.field("threshold", pa.decimal128(38, DIGITS), nullable=False),
    pa.field("exact", pa.bool_(), nullable=False),
    pa.field("min_p", pa.float64(), nullable=False),
)
_COUNTS = pa.list_(pa.field("element", pa.int32(), nullable=False))


class SliceHead(NamedTuple):
    """What a footer says of a slice: its column, the counts of its rows, and its end."""

    key: ColumnKey
    counts: range
    end: End


class Layout(Protocol):
    """The columns of a Parquet file, and what its footer says of them."""

    version: int
    """The format that has this layout."""
    schema: pa.Schema
    repeated: tuple[str, ...]
    """Columns of few distinct values: Parquet stores each once."""

    def keys(self, slices: Sequence[ColumnSlice]) -> list[pa.Array]:
        """The columns that say what a row is, of these slices."""

    def describe(self, slices: Sequence[ColumnSlice]) -> list[dict[str, Any]]:
        """These slices as the footer lists them, in their order."""

    def read(self, columns: Iterable[Any]) -> Iterator[SliceHead]:
        """What a footer lists; raises KeyError, TypeError, ValueError or `EllzeroError` if it lists something else."""


class DiscreteLayout(Layout):
    """Format 1: the discrete noise, a row for each (K, α, r)."""

    version = 1
    schema = pa.schema(
        [
            pa.field("k", pa.int32(), nullable=False),
            pa.field("alpha_num", pa.int64(), nullable=False),
            pa.field("alpha_den", pa.int64(), nullable=False),
            pa.field("r", pa.int32(), nullable=False),
            *_VALUES,
        ]
    )
    repeated = ("k", "alpha_num", "alpha_den")

    def keys(self, slices: Sequence[ColumnSlice]) -> list[pa.Array]:
        lengths = [len(piece.rows) for piece in slices]
        alphas = [piece.noise.alpha for piece in slices]
        columns = [
            np.repeat(np.array([piece.noise.k for piece in slices], dtype=np.int32), lengths),
            np.repeat(np.array([alpha.numerator for alpha in alphas], dtype=np.int64), lengths),
            np.repeat(np.array([alpha.denominator for alpha in alphas], dtype=np.int64), lengths),
            np.concatenate([np.arange(piece.first, piece.stop, dtype=np.int32) for piece in slices]),
        ]
        return [pa.array(column) for column in columns]

    def describe(self, slices: Sequence[ColumnSlice]) -> list[dict[str, Any]]:
        return [{"k": piece.noise.k, "alpha": str(piece.noise.alpha), **_describe_rows(piece)} for piece in slices]

    def read(self, columns: Iterable[Any]) -> Iterator[SliceHead]:
        for entry in columns:
            yield _read_rows(Discrete(entry["k"], entry["alpha"]), entry)


class BudgetLayout(Layout):
    """Format 2: any family, a row for each (family, q, budget)."""

    version = 2
    schema = pa.schema(
        [
            pa.field("family", pa.string(), nullable=False),
            pa.field("q", pa.string(), nullable=False),
            pa.field("budget", _COUNTS, nullable=False),
            *_VALUES,
        ]
    )
    repeated = ("family", "q")

    def keys(self, slices: Sequence[ColumnSlice]) -> list[pa.Array]:
        columns = [_budget_column(piece) for piece in slices]
        lengths = [len(piece.rows) for piece in slices]
        places = np.repeat(np.arange(len(slices)), lengths)
        widths = np.repeat([len(column.fixed) + 1 for column in columns], lengths)
        budgets = [_list_budgets(column.fixed, piece) for column, piece in zip(columns, slices, strict=True)]
        return [
            pa.array([write_family(column.family) for column in columns], pa.string()).take(pa.array(places)),
            pa.array([str(column.q) for column in columns], pa.string()).take(pa.array(places)),
            pa.ListArray.from_arrays(
                pa.array(np.concatenate([[0], np.cumsum(widths)]), pa.int32()),
                pa.array(np.concatenate(budgets), pa.int32()),
                type=_COUNTS,
            ),
        ]

    def describe(self, slices: Sequence[ColumnSlice]) -> list[dict[str, Any]]:
        """One entry for each (family, q), since its columns are many and short."""
        together = groupby(slices, key=lambda piece: (_budget_column(piece).family, _budget_column(piece).q))
        return [
            {
                "family": family.describe(),
                "q": str(read_q(q)),
                "slices": [{"fixed": list(_budget_column(piece).fixed), **_describe_rows(piece)} for piece in own],
            }
            for (family, q), own in together
        ]

    def read(self, columns: Iterable[Any]) -> Iterator[SliceHead]:
        for entry in columns:
            family, q = make_family(entry["family"]), read_q(entry["q"])
            for piece in entry["slices"]:
                fixed = tuple(read_integer(count, "fixed", 0, LARGEST_COUNT) for count in piece["fixed"])
                head = _read_rows(BudgetColumn(family, q, fixed), piece)
                for axis, count, most in zip(family.axes, (*fixed, head.counts[-1]), family.most, strict=True):
                    read_integer(count, axis, 0, most)
                yield head


LAYOUTS: dict[int, Layout] = {DiscreteLayout.version: DiscreteLayout(), BudgetLayout.version: BudgetLayout()}


def layout_of(key: ColumnKey) -> Layout:
    """The layout of shards that have this column."""
    return LAYOUTS[DiscreteLayout.version if isinstance(key, Discrete) else BudgetLayout.version]


def read_q(value: object) -> Fraction:
    """q of thresholds ρ⁻¹(q), strictly between 0 and 1."""
    allowed = "a number strictly between 0 and 1, such as 1/2"
    q = read_exact(value, "q", allowed)
    if not 0 < q < 1:
        raise InvalidInput("q", allowed, value)
    return q


def _budget_column(piece: ColumnSlice) -> BudgetColumn:
    if not isinstance(piece.key, BudgetColumn):
        raise TypeError(f"not a column of budgets: {piece.key}")
    return piece.key


def _list_budgets(fixed: tuple[int, ...], piece: ColumnSlice) -> np.ndarray[Any, Any]:
    """The budgets of a slice, one after the other."""
    budgets = np.empty((len(piece.rows), len(fixed) + 1), np.int32)
    budgets[:, :-1] = fixed
    budgets[:, -1] = np.arange(piece.first, piece.stop)
    return budgets.ravel()


def _describe_rows(piece: ColumnSlice) -> dict[str, Any]:
    return {"first": piece.first, "last": piece.stop - 1, "end": end_of(piece.key, piece.last_scaled_ceiling).value}


def _read_rows(key: ColumnKey, entry: Any) -> SliceHead:
    low = read_integer(entry["first"], "first", 0, LARGEST_COUNT)
    return SliceHead(key, range(low, read_integer(entry["last"], "last", low, LARGEST_COUNT) + 1), End(entry["end"]))
