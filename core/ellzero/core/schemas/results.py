"""Answers about the results of data sets."""

from dataclasses import dataclass, field
from typing import Any

from ellzero.core.conventions import CONVENTIONS, Conventions
from ellzero.core.schemas.voting import CertificateLook, EvidenceKind


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
    """The metrics of a run. ``accuracy`` ends where nothing is certified any more, or at ``d``, the units
    that an adversary may change: of the input that has most, where inputs are of different lengths.

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
