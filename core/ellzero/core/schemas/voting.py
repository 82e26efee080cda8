"""Answers about models: votes, certificates, exact certificates of trees, and jobs."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from ellzero.core.conventions import CONVENTIONS, Conventions

JobKind = Literal["predict", "certify"]
JobState = Literal["waiting", "running", "done", "failed", "cancelled", "lost"]
ModelKind = Literal["network", "tree", "forest"]
EvidenceKind = Literal["votes", "exact"]


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
    the bounds are then those of one look, without undrawn votes. ``document``, if it was asked for, is a file's content
    for `ellzero verify`.

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
    document: str | None = None


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
