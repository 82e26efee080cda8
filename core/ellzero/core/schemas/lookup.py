"""Answers about thresholds and radii of the discrete noise, and what a table has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from ellzero.core.conventions import CONVENTIONS, Conventions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

End = Literal["complete", "flat", "cut"]


class Source(StrEnum):
    """Where a radius or a threshold came from."""

    TABLE = "table"
    COMPUTED = "computed"


def combine_sources(sources: Iterable[Source]) -> Source:
    """The source of an answer that came from all of these: computed if any of them was."""
    return Source.COMPUTED if Source.COMPUTED in sources else Source.TABLE


@dataclass(frozen=True, kw_only=True)
class RadiusAnswer:
    """A certified radius and its reason. ``radius`` None means abstain: not even r = 0 is certified.

    The evidence (``p``, with ``p_b`` perhaps; or ``count``, ``n`` and ``failure``) exceeds ``threshold``, τ_radius
    rounded up, by at least ``margin``, and does not exceed ``next_threshold`` (None at radius d). Votes speak through
    ``p_lower``, a lower bound of p that fails with probability ``failure``; ``min_count`` of the n votes certify the
    radius, and ``next_min_count`` would certify one more (None if even n would not). With ``p_b``, and at p = 1, no
    threshold of p decides, and they are None.
    """

    radius: int | None
    threshold: Decimal | None
    next_threshold: Decimal | None
    margin: Decimal | None
    source: Source
    k: int
    alpha: str
    d: int
    p: str | None = None
    p_b: str | None = None
    count: int | None = None
    n: int | None = None
    failure: str | None = None
    p_lower: Decimal | None = None
    min_count: int | None = None
    next_min_count: int | None = None
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class RadiiAnswer:
    """Certified radii in the order of the request, None to abstain; ``source`` is computed if any of them was."""

    radii: list[int | None]
    source: Source
    k: int
    alpha: str
    d: int
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class RadiiArray:
    """Certified radii in the shape of the request's array, −1 to abstain."""

    radii: "NDArray[np.int32]"
    source: Source
    k: int
    alpha: str
    d: int
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True)
class ThresholdRow:
    """p certifies r iff p > τ_r. ``threshold``: τ_r rounded up, τ_r if ``exact``; ``min_p`` the least double > τ_r."""

    r: int
    threshold: Decimal
    exact: bool
    min_p: float


@dataclass(frozen=True, kw_only=True)
class ThresholdsAnswer:
    """τ_0, τ_1, … of one noise. They end complete (all others are 1), flat (all are 1/2), or cut (there are more)."""

    rows: list[ThresholdRow]
    end: End
    source: Source
    k: int
    alpha: str
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class PlanAnswer:
    """``min_count`` of ``n`` votes certify radius ``r`` at failure probability ``failure``.

    For r and p: n is the least with which an input of that p gets there with probability ``power``; None if no
    n ≤ 10^8 does. For n and d: r ≤ d is the largest radius that n votes can certify; None if they are too few.
    """

    r: int | None
    n: int | None
    min_count: int | None
    failure: str
    k: int
    alpha: str
    p: str | None = None
    power: str | None = None
    d: int | None = None
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True)
class ComparedThreshold:
    """What p must exceed to certify r: with the discrete noise, and with Gaussian noise. Both rounded up."""

    r: int
    discrete: Decimal
    gaussian: Decimal


@dataclass(frozen=True, kw_only=True)
class CompareAnswer:
    """The ℓ0 certificates of bits (K = 1) under discrete noise, and under Gaussian noise that keeps them as often.

    Gaussian noise N(0, σ²), read by rounding, keeps a bit with probability α for σ = 1/(2Φ⁻¹(α)). The radii are None to
    abstain, and without p.
    """

    discrete: int | None
    gaussian: int | None
    sigma: float
    alpha: str
    k: int
    d: int
    p: str | None = None
    rows: list[ComparedThreshold] = field(default_factory=list)
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True)
class TableColumn:
    """A column of the table: the rows r = 0 … rows−1 of one noise, and why they end."""

    k: int
    alpha: str
    rows: int
    end: End


@dataclass(frozen=True)
class TableBudgets:
    """The budgets of a family at one q in the table: how many, and the largest count of each kind of change."""

    family: dict[str, Any]
    q: str
    rows: int
    largest: int | dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class TablesAnswer:
    """The table behind the answers: columns of discrete noise, and budgets of other families. All else is computed."""

    table: str
    rows: int
    columns: list[TableColumn]
    version: str
    families: list[TableBudgets] = field(default_factory=list)
    conventions: Conventions = CONVENTIONS
