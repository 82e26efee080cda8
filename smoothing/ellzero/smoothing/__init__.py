"""From a model to a certified radius: exact noise, votes, smoothed prediction. Needs torch (``ellzero[predict]``)."""

import os

# Before torch is loaded: threads that spin while they wait make small models ten times slower on a machine that does
# anything else besides. Who has set it knows better.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

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
