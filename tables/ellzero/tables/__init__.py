"""Tables of thresholds: what they are, where they lie, and certified radii looked up in them.

Start with `LocalClient`, or with `reference_index` (the table that ships) and `ThresholdIndex.open`; `Table` is the
store behind them. A lookup gives what exact arithmetic gives, whatever the table lacks.
"""

from ellzero.tables.compaction import Compacted, compact
from ellzero.tables.errors import Contradiction, DamagedShard, NewerFormat, NotATable, StorageFailed, TableError
from ellzero.tables.found import ABSTAIN, Found, FoundColumn, FoundMany
from ellzero.tables.index import ThresholdIndex
from ellzero.tables.known import Source
from ellzero.tables.local import LocalClient
from ellzero.tables.paper_table import PaperTable
from ellzero.tables.reference import reference_index
from ellzero.tables.rows import End, Part
from ellzero.tables.table import Extent, Table
from ellzero.tables.verification import Verdict, audit, verify

__all__ = [
    "ABSTAIN",
    "Compacted",
    "Contradiction",
    "DamagedShard",
    "End",
    "Extent",
    "Found",
    "FoundColumn",
    "FoundMany",
    "LocalClient",
    "NewerFormat",
    "NotATable",
    "PaperTable",
    "Part",
    "Source",
    "StorageFailed",
    "Table",
    "TableError",
    "ThresholdIndex",
    "Verdict",
    "audit",
    "compact",
    "reference_index",
    "verify",
]
