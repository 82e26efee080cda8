"""Exact answers of a smoothed tree or forest: the estimator's own, in the types of the service. Needs scikit-learn."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import (
    AdversarialChange,
    ExactCertificate,
    ExactProbability,
    FeatureChange,
    InputCertificate,
    InputPrediction,
    ModelInfo,
)
from ellzero.core.text import format_duration
from ellzero.serve.platform.field_types import MAX_CHARACTERS, MAX_INPUTS
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.trees.cost_estimates import TreeCosts
from ellzero.trees.estimators import SmoothedTrees
from ellzero.trees.forest import Forest
from ellzero.trees.model_file import SavedTrees

_DIGITS = 20
_DOWN, _UP = Context(_DIGITS, ROUND_FLOOR), Context(_DIGITS, ROUND_CEILING)
_MAX_BITS = 3 * MAX_CHARACTERS  # a longer fraction is not worth writing as text first
_HALF = Fraction(1, 2)


def read_inputs(x: Any, n_features: int) -> NDArray[np.uint8]:
    """Return an input, or several stacked ones, as rows of 0 and 1."""
    try:
        inputs = np.asarray(x)
    except ValueError:  # lists of different lengths
        raise InvalidInput("x", "an array of numbers of one shape", "lists of several shapes") from None
    if inputs.dtype.kind not in "biuf" and inputs.size:
        raise InvalidInput("x", "an array of numbers of one shape", str(inputs.flat[0]))
    if inputs.shape == (n_features,):
        inputs = inputs[np.newaxis]
    elif inputs.ndim != 2 or inputs.shape[1] != n_features or not len(inputs):
        raise InvalidInput("x", f"of shape {[n_features]}, or several of them stacked", list(inputs.shape))
    if len(inputs) > MAX_INPUTS:
        raise InvalidInput("x", f"at most {MAX_INPUTS} inputs", len(inputs))
    if (wrong := (inputs != 0) & (inputs != 1)).any():
        raise InvalidInput("x", "features of 0 or 1", inputs[wrong][0].item())
    return inputs.astype(np.uint8)


class ServedTrees:
    """A tree or forest in memory. Work that is expected to take more than ``most_seconds`` is refused with 422."""

    def __init__(self, name: str, saved: SavedTrees, most_seconds: float) -> None:
        self.estimator, self.info = saved.estimator, _describe(name, saved)
        self.feature_names = saved.feature_names
        self._costs = TreeCosts(_make_forest(saved.estimator), saved.estimator.alpha_)
        self._most_seconds = most_seconds

    def predict(self, x: Any) -> list[InputPrediction]:
        """Return the class of each input, None where p = 1/2, and its exact probability."""
        inputs = read_inputs(x, self.estimator.n_features_in_)
        self._check_cost(len(inputs), 0)
        return [
            InputPrediction(
                prediction=None if p == _HALF else int(p > _HALF), counts=[], drawn=0, exact=_enclose(_own(p))
            )
            for p in _probabilities(self.estimator, inputs)
        ]

    def certify(self, x: Any) -> list[InputCertificate]:
        """Return the exact certificate of each input. Its cost is estimated again once the radii are known."""
        inputs = read_inputs(x, self.estimator.n_features_in_)
        self._check_cost(len(inputs), 0)
        radii = self.estimator.certified_radius(inputs)
        changeable = (radii >= 0) & (radii < self.estimator.n_features_in_)
        if changeable.any():
            self._check_cost(int(changeable.sum()), int(radii[changeable].max()) + 1)
        probabilities = _probabilities(self.estimator, inputs)
        adversaries = self._find_adversaries(inputs, radii, probabilities)
        return [
            _make_certificate(p, int(radius), adversaries.get(place))
            for place, (p, radius) in enumerate(zip(probabilities, radii, strict=True))
        ]

    def _find_adversaries(
        self, inputs: NDArray[np.uint8], radii: NDArray[np.int64], probabilities: list[Fraction]
    ) -> dict[int, AdversarialChange]:
        """Return the worst radius + 1 changes by the place of the input, for all inputs whose class can change."""
        groups: dict[tuple[int, int], list[int]] = {}
        for place, (p, radius) in enumerate(zip(probabilities, radii.tolist(), strict=True)):
            if 0 <= radius < self.estimator.n_features_in_:
                groups.setdefault((radius, int(p > _HALF)), []).append(place)
        classes = self.estimator.classes_.tolist()
        adversaries = {}
        for (radius, label), places in groups.items():
            changed = self.estimator.adversarial_input(inputs[places], radius + 1, classes[1 - label])
            for place, row, p in zip(places, changed, _probabilities(self.estimator, changed), strict=True):
                adversaries[place] = AdversarialChange(
                    changes=[self._describe_change(feature, row) for feature in np.flatnonzero(row != inputs[place])],
                    p=_enclose(p if label else 1 - p),
                    prediction=None if p == _HALF else int(p > _HALF),
                )
        return adversaries

    def _describe_change(self, feature: np.int64, changed: NDArray[np.uint8]) -> FeatureChange:
        name = None if self.feature_names is None else self.feature_names[feature]
        return FeatureChange(int(feature), int(changed[feature]), name)

    def _check_cost(self, inputs: int, r: int) -> None:
        seconds, limit = self._costs.estimate_seconds(inputs, r), self._most_seconds
        if seconds > limit:
            detail = (
                f"this would take about {format_duration(seconds)}, and the service computes for at most {limit:g}"
                " seconds per request; send fewer inputs"
            )
            raise HttpProblem(422, detail, "too-costly", expected_seconds=round(seconds, 1), limit_seconds=limit)


def _describe(name: str, saved: SavedTrees) -> ModelInfo:
    """Return the description of a model; its noise as that of networks is described."""
    estimator, data = saved.estimator, saved.notes.get("data")
    data_name = data.get("name") if isinstance(data, dict) else data
    return ModelInfo(
        name=name,
        architecture=type(estimator).__name__,
        shape=[estimator.n_features_in_],
        num_classes=2,
        class_names=[str(label) for label in estimator.classes_.tolist()],
        levels=2,
        noise={
            "family": "discrete",
            "k": 1,
            "alpha": str(estimator.alpha_),
            "unit": "coordinate",
            "levels": 2,
            "channels": 1,
        },
        data=data_name if isinstance(data_name, str) else "",
        sha256=saved.digest,
        kind="tree" if saved.kind == "tree" else "forest",
    )


def _make_forest(estimator: SmoothedTrees) -> Forest:
    links = (estimator.feature_, estimator.left_, estimator.right_)
    return Forest.of(*links, estimator.value_, estimator.roots_, estimator.n_features_in_)


def _probabilities(estimator: SmoothedTrees, inputs: NDArray[np.uint8]) -> list[Fraction]:
    """Return the exact probability of the second class at each input."""
    return list(estimator.probability_bounds(inputs, 0, exact=True)[0][:, 0])


def _make_certificate(p: Fraction, radius: int, adversary: AdversarialChange | None) -> InputCertificate:
    label, own = int(p > _HALF), _enclose(_own(p))
    return InputCertificate(
        prediction=None if radius < 0 else label,
        radius=None if radius < 0 else radius,
        selected=label,
        count=0,
        drawn=0,
        counts=[],
        selection=[],
        lower_bound=_round_down(_own(p)),
        exact=ExactCertificate(p=own, adversary=adversary),
    )


def _own(p: Fraction) -> Fraction:
    """Return the probability of the more probable class."""
    return max(p, 1 - p)


def _round_down(p: Fraction) -> float:
    """Return the largest double that is at most p."""
    nearest = float(p)
    return nearest if Fraction(nearest) <= p else float(np.nextafter(nearest, 0.0))


def _enclose(p: Fraction) -> ExactProbability:
    """Return a probability as 20 digits rounded down and up, and as a fraction unless that is long."""
    numerator, denominator = Decimal(p.numerator), Decimal(p.denominator)
    text = str(p) if p.denominator.bit_length() <= _MAX_BITS else ""
    return ExactProbability(
        fraction=text if 0 < len(text) <= MAX_CHARACTERS else None,
        lower=_DOWN.divide(numerator, denominator),
        upper=_UP.divide(numerator, denominator),
    )
