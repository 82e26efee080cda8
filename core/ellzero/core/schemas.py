"""What the service answers, as plain frozen types: the wire contract, and what every client returns.

Numbers that a proof rests on are exact: thresholds and margins are Decimals (text on the wire), α is text, "1/5" say.
This module needs nothing but Python, so that every part may speak in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

from ellzero.core.conventions import BUDGET_CONVENTIONS, CONVENTIONS, BudgetConventions, Conventions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

End = Literal["complete", "flat", "cut"]
JobKind = Literal["predict", "certify"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "lost"]
ModelKind = Literal["network", "tree", "forest"]
EvidenceKind = Literal["votes", "exact"]
ParameterType = Literal["integer", "probability", "family", "families", "groups", "regions"]


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


@dataclass(frozen=True, kw_only=True)
class ModelInfo:
    """A model of the service. ``noise`` is the one it was trained with, and the default of requests.

    Inputs have this ``shape`` and whole levels 0..levels−1. The service takes votes of a network; the certificates of a
    smoothed tree or forest are exact.
    """

    name: str
    architecture: str
    shape: list[int]
    num_classes: int
    class_names: list[str]
    levels: int
    noise: dict[str, Any]
    data: str
    sha256: str
    kind: ModelKind = "network"


@dataclass(frozen=True)
class UnusableModel:
    """A model that the service cannot use, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ModelsAnswer:
    """The models of a service, and those that cannot be used."""

    models: list[ModelInfo]
    unusable: list[UnusableModel] = field(default_factory=list)
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True)
class Example:
    """An input to try a model on: its levels in the model's shape, and its class."""

    index: int
    label: int
    x: list[Any]


@dataclass(frozen=True, kw_only=True)
class ExamplesAnswer:
    """Some inputs of the data that a model was trained for, none of which it was trained on."""

    model: str
    data: str
    examples: list[Example]


@dataclass(frozen=True, kw_only=True)
class NoisyAnswer:
    """An example under noise, as one of the votes would see it: levels in the model's shape."""

    model: str
    index: int
    x: list[Any]
    noise: dict[str, Any]
    seed: int


@dataclass(frozen=True, kw_only=True)
class ExactProbability:
    """A rational number between ``lower`` and ``upper``; ``fraction`` is the number itself, None if it is too long."""

    fraction: str | None
    lower: Decimal
    upper: Decimal


@dataclass(frozen=True)
class FeatureChange:
    """A feature by its index, the ``value`` that it is changed to, and its ``name`` if the model's file has names."""

    feature: int
    value: int
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class AdversarialChange:
    """The fewest changes that lead to another class, or to a tie: radius + 1 of them.

    Of all inputs with so many changes, none has less of the class that was predicted: ``p``, at most 1/2. After them
    the class is ``prediction``, None at a tie (p = 1/2).
    """

    changes: list[FeatureChange]
    p: ExactProbability
    prediction: int | None


@dataclass(frozen=True, kw_only=True)
class ExactCertificate:
    """The exact certificate of a smoothed tree or forest, which holds with certainty.

    ``p`` is the probability of the class under noise. ``adversary`` shows that the radius cannot be larger; None if no
    number of changes leads to another class, and for an input at a tie itself.
    """

    p: ExactProbability
    adversary: AdversarialChange | None


@dataclass(frozen=True, kw_only=True)
class InputPrediction:
    """The most probable class under noise, None to abstain; ``counts`` of the ``drawn`` votes by class.

    Of a tree or forest no votes are drawn. ``exact`` is the probability of its class, and 1/2 if it abstains.
    """

    prediction: int | None
    counts: list[int]
    drawn: int
    exact: ExactProbability | None = None


@dataclass(frozen=True, kw_only=True)
class CertificateLook:
    """A look at the first ``n`` votes, ``count`` of them for the class; ``failure`` is its share of the whole."""

    n: int
    failure: str
    count: int


@dataclass(frozen=True, kw_only=True)
class InputCertificate:
    """A class that no change of at most ``radius`` units changes; both None to abstain.

    ``selected`` came first among the votes of ``selection``; ``count`` of ``drawn`` fresh votes, ``counts`` by class,
    were for it. ``lower_bound`` of its p counts undrawn votes as failures; ``upper_bound`` is that of all others.
    ``looks``, with staged stopping, are those that were made: all hold together, and the best of them counts, so that
    the bounds are then those of one look, without undrawn votes.

    Of a tree or forest no votes are drawn, and ``exact`` has its certificate; ``lower_bound`` is p rounded down. It
    abstains where p = 1/2.
    """

    prediction: int | None
    radius: int | None
    selected: int
    count: int
    drawn: int
    counts: list[int]
    selection: list[int]
    lower_bound: float
    upper_bound: float | None = None
    other_radii: dict[str, float] = field(default_factory=dict)
    looks: list[CertificateLook] = field(default_factory=list)
    exact: ExactCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class PredictAnswer:
    """Smoothed predictions in the order of the inputs, each right with probability at least 1 − ``failure``.

    Those of a tree or forest are exact: no votes are drawn (``n`` is 0), and ``failure`` is 0.
    """

    results: list[InputPrediction]
    model: str
    sha256: str
    n: int
    failure: str
    seed: int
    noise: dict[str, Any]
    seconds: float
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class CertifyAnswer:
    """Certificates in the order of the inputs, each true with probability at least 1 − ``failure``.

    A radius counts units of the noise, coordinates or pixels, of which there are ``d``. Certificates of a tree or
    forest are exact: no votes are drawn (``n0``, ``n`` and ``seed`` are 0), and ``failure`` is 0.
    """

    results: list[InputCertificate]
    model: str
    sha256: str
    n0: int
    n: int
    failure: str
    seed: int
    stopping: str
    runner_up: bool
    noise: dict[str, Any]
    d: int
    seconds: float
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class JobAnswer:
    """Votes that take longer than a request may. ``counts``: by input, the votes of its present stage by class so far.

    waiting, running, then done with a ``prediction`` or ``certificate``; or failed, cancelled or lost, for a
    ``reason``. A lost job's service ended before the job did: submit it again.
    """

    id: str
    kind: JobKind
    state: JobState
    model: str
    votes: int
    votes_at_most: int
    counts: list[list[int]]
    seconds: float
    eta_seconds: float | None = None
    reason: str | None = None
    prediction: PredictAnswer | None = None
    certificate: CertifyAnswer | None = None


@dataclass(frozen=True, kw_only=True)
class ResultsInfo:
    """A run over a data set, and what its ``inputs`` that have a result so far amount to.

    ``mean_radius`` is μ(R), in which a wrong answer and an abstention count 0; ``mean_radius_error`` is half of its
    interval of 95 %, over inputs from the same source. Both are None as long as there are too few inputs.
    The certificates of trees and forests are exact: they have no ``n``, ``failure`` and ``stopping``.
    """

    name: str
    evidence: EvidenceKind
    model: str
    data: str
    split: str
    noise: str
    n: int | None
    failure: str | None
    stopping: str | None
    inputs: int
    mean_radius: float | None
    mean_radius_error: float | None


@dataclass(frozen=True)
class UnusableResults:
    """A results folder that cannot be read, and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class ResultsAnswer:
    """The results folders of a service. ``complete`` is false if there are more than the service looks for."""

    results: list[ResultsInfo]
    unusable: list[UnusableResults]
    complete: bool
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True)
class CertifiedShare:
    """The share of inputs whose answer is certified to be right whatever r units change; [low, high] covers 95 %."""

    r: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class ReportAnswer:
    """The metrics of a run. ``accuracy`` ends where nothing is certified any more, or at ``d``, the units of an input.

    ``votes_drawn`` is the share of the votes that the run could have drawn; None if its certificates are exact. ``run``
    is what its run.json says; integers that some JSON readers would round are text.
    """

    info: ResultsInfo
    d: int
    abstained: int
    wrong: int
    median_radius: float
    votes_drawn: float | None
    accuracy: list[CertifiedShare]
    run: dict[str, Any]
    conventions: Conventions = CONVENTIONS


@dataclass(frozen=True, kw_only=True)
class CertifiedInput:
    """The result of one input, as in `InputCertificate`; without votes ``count`` and ``drawn`` are 0.

    ``lower_bound`` is that of the probability of the ``selected`` class, None at a tie.
    """

    index: int
    label: int
    prediction: int | None
    radius: int | None
    selected: int | None
    count: int
    drawn: int
    lower_bound: float
    upper_bound: float | None
    looks: list[CertificateLook] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CertifiedInputsAnswer:
    """Some of the ``total`` inputs of a run, and how they can be shown.

    The inputs themselves have this ``shape`` and whole levels 0..levels−1, and the classes these names. Where the
    service cannot load them, ``unavailable`` says why, and the three are None or empty.
    """

    name: str
    rows: list[CertifiedInput]
    total: int
    offset: int
    shape: list[int] | None
    levels: int | None
    class_names: list[str]
    unavailable: str | None


@dataclass(frozen=True)
class InputLevelsAnswer:
    """One of the inputs that a run certified: its levels in their shape."""

    name: str
    index: int
    label: int
    levels: int
    x: list[Any]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a request was not answered: problem details of RFC 9457, under the request's id in the service's log.

    A wrong value has ``field``, ``value`` and ``allowed``; a request that is too large or too costly has a limit.
    ``available`` lists the media types of a route if the client accepts none of them.
    """

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    field: str | None = None
    value: Any = None
    allowed: str | list[str] | None = None
    expected_seconds: float | None = None
    limit_seconds: float | None = None
    limit_votes: int | None = None
    limit_bytes: int | None = None
    available: list[str] | None = None

    @property
    def kind(self) -> str:
        """The last part of ``type``, such as "invalid-input"."""
        return self.type.rpartition(":")[2]
