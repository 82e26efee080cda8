"""From a model to a certified radius: exact noise, votes, smoothed prediction. Needs torch (``ellzero[predict]``)."""

from ellzero.smoothing.ballots import Question
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.continuous import GaussianNoise, UniformNoise
from ellzero.smoothing.discrete import DiscreteNoise, Unit
from ellzero.smoothing.results import ABSTAIN, Certified, Predicted
from ellzero.smoothing.rules import Stopping

__all__ = [
    "ABSTAIN",
    "Certified",
    "DiscreteNoise",
    "GaussianNoise",
    "Predicted",
    "Question",
    "SmoothedClassifier",
    "Stopping",
    "UniformNoise",
    "Unit",
]
