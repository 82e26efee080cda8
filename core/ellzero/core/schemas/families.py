"""Answers about budgets of any family of noises, and what families there are."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from ellzero.core.conventions import BUDGET_CONVENTIONS, BudgetConventions
from ellzero.core.schemas.lookup import Source

ParameterType = Literal["integer", "probability", "family", "families", "groups", "regions"]


@dataclass(frozen=True, kw_only=True)
class FamilyParameter:
    """A parameter of a family, as descriptions have it.

    An integer is from ``low`` to ``high``; a probability is strictly between 0 and 1, as text ("0.01", "1/100"). The
    others are JSON: a ``family`` is a description; ``families`` are descriptions by names of one's own; ``groups`` are
    a list of descriptions, each with its number of ``columns``; ``regions`` are, for 1, 2, … changes, a list of pairs
    of masses as text.
    """

    name: str
    type: ParameterType
    meaning: str
    example: Any
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class ChangeKind:
    """A kind of change that budgets count: its name in budgets, and what it counts."""

    name: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class FamilyInfo:
    """A family of noises: what it models, its parameters, and what its budgets count.

    ``kinds`` are the kinds of change; empty where they follow from other families, as ``kinds_follow`` says. A budget
    of one kind is a number, of several a mapping by their names. ``composed`` families have parameters that are
    families or lists, and are described in JSON. ``example`` is a description, and ``limits`` a budget, to begin with.
    """

    name: str
    models: str
    parameters: list[FamilyParameter]
    kinds: list[ChangeKind]
    kinds_follow: str | None
    composed: bool
    example: dict[str, Any]
    limits: int | dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FamiliesAnswer:
    """All families of noises, the simple ones first."""

    families: list[FamilyInfo]
    conventions: BudgetConventions = BUDGET_CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class CertifiedAnswer:
    """The largest budgets within ``limits`` of changes that keep the class, or keep it among ``top_k``.

    ``certified`` is a number for a family with one kind of change. For several it is a staircase: the budgets none of
    which is within another, ascending; each covers all smaller ones. None means abstain: not even the empty budget is
    certified. ``family`` is its description. Votes speak through ``p_lower``, a lower bound of p that fails with
    probability ``failure``.
    """

    certified: int | list[dict[str, Any]] | None
    source: Source
    family: dict[str, Any]
    limits: int | dict[str, Any]
    top_k: int
    p: str | None = None
    p_b: str | None = None
    count: int | None = None
    n: int | None = None
    failure: str | None = None
    p_lower: Decimal | None = None
    conventions: BudgetConventions = BUDGET_CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class CertifiedListAnswer:
    """What each of many probabilities or counts certifies, in their order: ``certified`` as in `CertifiedAnswer`."""

    certified: list[int | list[dict[str, Any]] | None]
    source: Source
    family: dict[str, Any]
    limits: int | dict[str, Any]
    top_k: int
    conventions: BudgetConventions = BUDGET_CONVENTIONS


@dataclass(frozen=True)
class BudgetThreshold:
    """p certifies the budget iff p > ρ⁻¹(q). ``threshold``: ρ⁻¹(q) rounded up, ρ⁻¹(q) if ``exact``.

    ``min_p`` is the least double above ρ⁻¹(q), None if that is 1: no p certifies the budget.
    """

    budget: int | dict[str, Any]
    threshold: Decimal
    exact: bool
    min_p: float | None


@dataclass(frozen=True, kw_only=True)
class BudgetThresholdsAnswer:
    """The thresholds of all budgets within ``limits``; the last kind of change varies first.

    At ``q`` = 1/2 the class stays the most probable one; at 1/(k+1) it stays among the k most probable.
    """

    rows: list[BudgetThreshold]
    q: str
    source: Source
    family: dict[str, Any]
    limits: int | dict[str, Any]
    conventions: BudgetConventions = BUDGET_CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class BudgetPlanAnswer:
    """``min_count`` of ``n`` votes certify the budget at failure probability ``failure``.

    n is the least number of votes with which an input of probability p gets there with probability ``power``; None if
    no n ≤ 10^8 does.
    """

    budget: int | dict[str, Any]
    n: int | None
    min_count: int | None
    failure: str
    family: dict[str, Any]
    p: str
    power: str
    conventions: BudgetConventions = BUDGET_CONVENTIONS
