"""Tables of thresholds by the published algorithm, each row with its d and error bound, to audit other tables with."""

from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, Context, Decimal

import pyarrow as pa

from ellzero.certificates import Discrete, PaperThreshold
from ellzero.tables.format import shard
from ellzero.tables.format.rows import DIGITS
from ellzero.tables.store import Store
from ellzero.tables.table import open_store

KIND = "paper thresholds"
METHOD = "paper"
_FORMAT = 1  # these rows are as they were then
_REPEATED = ("k", "alpha_num", "alpha_den")
# For bounds below 10, rounded up by at most 10^-37: finer than any d of interest needs.
_BOUND_DIGITS = 37
SCHEMA = pa.schema(
    [
        pa.field("method", pa.string(), nullable=False),
        pa.field("d", pa.int32(), nullable=False),
        pa.field("k", pa.int32(), nullable=False),
        pa.field("alpha_num", pa.int64(), nullable=False),
        pa.field("alpha_den", pa.int64(), nullable=False),
        pa.field("r", pa.int32(), nullable=False),
        pa.field("threshold", pa.decimal128(38, DIGITS), nullable=False),
        pa.field("error_bound", pa.decimal128(38, _BOUND_DIGITS), nullable=False),
    ]
)
_UP = Context(prec=80, rounding=ROUND_CEILING)


class PaperTable:
    """A grow-only set of shards like `Table`. Each row (d, K, α, r) has threshold − error_bound ≤ τ_r ≤ threshold."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @classmethod
    def open(cls, uri: str) -> "PaperTable":
        """The table at a path or URI, which must hold one of this kind."""
        return cls(open_store(uri, KIND))

    @classmethod
    def create(cls, uri: str) -> "PaperTable":
        """The table at a path or URI, empty if there is nothing yet."""
        return cls(open_store(uri, KIND, create=True))

    def append(self, rows: Iterable[PaperThreshold]) -> str:
        """Add rows as one shard, and return its name."""
        return self.store.put(encode(rows))

    def rows(self) -> list[PaperThreshold]:
        """All rows in order of (K, α, d, r)."""
        return self.store.retry_reading(
            lambda: _sort({row for name in self.store.names() for row in decode(name, self.store.read(name))})
        )


def encode(rows: Iterable[PaperThreshold]) -> bytes:
    """The Parquet file of these rows."""
    ordered = _sort(rows)
    columns = {
        "method": [METHOD for _ in ordered],
        "d": [row.d for row in ordered],
        "k": [row.noise.k for row in ordered],
        "alpha_num": [row.noise.alpha.numerator for row in ordered],
        "alpha_den": [row.noise.alpha.denominator for row in ordered],
        "r": [row.r for row in ordered],
        "threshold": [row.value for row in ordered],
        "error_bound": [_UP.quantize(row.error_bound, Decimal(1).scaleb(-_BOUND_DIGITS)) for row in ordered],
    }
    table = pa.Table.from_pydict(columns, schema=SCHEMA)
    return shard.write_parquet(table, KIND, {"method": METHOD, "rows": len(ordered)}, _FORMAT, _REPEATED)


def decode(name: str, data: bytes) -> Iterator[PaperThreshold]:
    """The rows in a shard's bytes."""
    shard.read_metadata(name, data, KIND, _FORMAT)
    for row in shard.read_parquet(name, data, SCHEMA).to_pylist():
        noise = Discrete(row["k"], f"{row['alpha_num']}/{row['alpha_den']}")
        yield PaperThreshold(noise, row["d"], row["r"], row["threshold"], row["error_bound"])


def _sort(rows: Iterable[PaperThreshold]) -> list[PaperThreshold]:
    return sorted(rows, key=lambda row: (row.noise.k, row.noise.alpha, row.d, row.r))
