"""The table that ships with ellzero: common numbers of categories × α = 0.01 … 0.99, to saturation or r = 2,000."""

from functools import cache
from pathlib import Path

from ellzero.tables.lookup.index import ThresholdIndex

LOCATION = Path(__file__).parent / "bundled_table"
GRID = Path(__file__).parent / "bundled_grid.toml"


@cache
def bundled_index() -> ThresholdIndex:
    """The table that ships, loaded once."""
    return ThresholdIndex.open(str(LOCATION))
