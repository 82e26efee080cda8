"""What lookups find."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.tables.format.rows import ColumnSlice
from ellzero.tables.lookup.column_cache import Source

ABSTAIN = -1


class RadiusResult(NamedTuple):
    """A certified radius, None to abstain."""

    radius: int | None
    source: Source

    @property
    def number(self) -> int:
        """The radius as arrays have it: −1 to abstain."""
        return ABSTAIN if self.radius is None else self.radius


class LocatedRadius(NamedTuple):
    """A certified radius between thresholds: ⌈τ·10^20⌉ of it (None at p = 1) and of the next one (None after d)."""

    radius: int | None
    source: Source
    unit: int | None
    next_unit: int | None


class RadiiResult(NamedTuple):
    """Certified radii in the shape of what was asked, −1 to abstain; computed if the engine was needed for any."""

    radii: NDArray[np.int32]
    source: Source


class ColumnResult(NamedTuple):
    """The rows 0, 1, … of a noise."""

    part: ColumnSlice
    source: Source


def of_all(*sources: Source) -> Source:
    """The source of an answer that came from all of these."""
    return Source.COMPUTED if Source.COMPUTED in sources else Source.TABLE
