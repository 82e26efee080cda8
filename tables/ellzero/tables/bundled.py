"""The table that ships with ellzero.

Common numbers of categories × α = 0.01 … 0.99, to saturation or r = 2,000; and sparse bits, p_add = 0.001 … 0.05 ×
p_del = 0.4 … 0.9, with at most 10 additions and 60 deletions.
"""

from functools import cache
from pathlib import Path

from ellzero.tables.lookup.index import ThresholdIndex

LOCATION = Path(__file__).parent / "bundled_table"
GRIDS = tuple(Path(__file__).parent / name for name in ("bundled_grid.toml", "bundled_sparse_grid.toml"))


@cache
def bundled_index() -> ThresholdIndex:
    """The table that ships, loaded once."""
    return ThresholdIndex.open(str(LOCATION))
