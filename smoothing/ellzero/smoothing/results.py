"""What smoothed prediction returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

ABSTAIN: Final = -1
"""The prediction where none can be given at this failure probability."""


@dataclass(frozen=True)
class Predicted:
    """The smoothed classifier's answer for an input, or ``ABSTAIN``.

    A class that is given is the most probable one under noise, with probability at least 1 − ``failure``. ``counts``
    are the votes of each class; ``drawn`` of ``n`` were needed.
    """

    prediction: int
    counts: tuple[int, ...]
    drawn: int
    n: int
    failure: Fraction
    seed: int
    noise: Mapping[str, Any]
    seconds: float


@dataclass(frozen=True)
class Certified:
    """An answer that no change of at most ``radius`` units turns into another, or ``ABSTAIN`` (``radius`` None).

    Holds with probability at least 1 − ``failure`` over the votes. ``selected`` came first among the n0 votes of
    ``selection``; ``count`` of ``drawn`` fresh votes, whose classes are ``counts``, were for it. ``lower_bound`` is its
    p's, votes not drawn counted as failures; ``upper_bound``, with ``runner_up``, that of all others.
    ``d`` units could be changed; ``noise`` says which. ``other_radii``: of continuous noise, in the norms l1, l2, linf.
    """

    prediction: int
    radius: int | None
    selected: int
    count: int
    drawn: int
    counts: tuple[int, ...]
    selection: tuple[int, ...]
    lower_bound: float
    upper_bound: float | None
    other_radii: Mapping[str, float]
    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: str
    noise: Mapping[str, Any]
    d: int
    seconds: float

    def whole_pixels(self, channels: int) -> int | None:
        """How many whole pixels of so many channels the radius speaks of: ⌊R/C⌋ where noise is on coordinates."""
        if self.radius is None:
            return None
        return self.radius if self.noise["unit"] == "pixel" else self.radius // channels
