from ellzero.core.errors import StorageFailed as StorageFailed
from ellzero.core.schemas import Source as Source
from ellzero.core.signing_keys import read_private_key as read_private_key, read_public_key as read_public_key
from ellzero.tables.bundled import bundled_index as bundled_index
from ellzero.tables.compaction import CompactionReport as CompactionReport, compact as compact
from ellzero.tables.errors import (
    Contradiction as Contradiction,
    DamagedShard as DamagedShard,
    InvalidManifest as InvalidManifest,
    NewerFormat as NewerFormat,
    NotATable as NotATable,
    TableError as TableError,
)
from ellzero.tables.format.keys import BudgetColumn as BudgetColumn
from ellzero.tables.format.rows import ColumnSlice as ColumnSlice, End as End
from ellzero.tables.lee2019_table import PaperTable as PaperTable
from ellzero.tables.local_client import LocalClient as LocalClient
from ellzero.tables.lookup.index import ThresholdIndex as ThresholdIndex
from ellzero.tables.lookup.results import (
    ABSTAIN as ABSTAIN,
    ColumnResult as ColumnResult,
    RadiiResult as RadiiResult,
    RadiusResult as RadiusResult,
)
from ellzero.tables.signed_manifest import (
    TableManifest as TableManifest,
    check_manifest as check_manifest,
    open_signed as open_signed,
    read_manifest as read_manifest,
    sign_report as sign_report,
)
from ellzero.tables.table import Extent as Extent, Table as Table
from ellzero.tables.verification import VerificationReport as VerificationReport, audit as audit, verify as verify
