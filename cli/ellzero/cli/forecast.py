"""What a long run is expected to give, said before it starts."""

from collections.abc import Sequence

import numpy as np

from ellzero.smoothing.advice import advise
from ellzero.smoothing.advice_text import format_mean, is_useful
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.sampling.sampling_task import CertifySettings

_LONG_SECONDS = 600.0
_MOST_SECONDS = 20.0
_LARGEST_SHARE = 0.01  # of the run's own votes
_MOST_INPUTS, _LEAST_INPUTS = 20, 10
_MOST_VOTES, _LEAST_VOTES = 200, 50


def forecast_run(
    classifier: SmoothedClassifier, data: DataSet, indices: Sequence[int], settings: CertifySettings, rate: float
) -> str | None:
    """A line about the μ(R) to expect of certifying these inputs, at so many votes a second.

    None for runs of less than ten minutes, and where it would take more than a hundredth of the run, or 20 seconds.
    The votes are those of no certificate: their streams are others.
    """
    total = len(indices) * (settings.n0 + settings.n)
    room = int(min(total * _LARGEST_SHARE, rate * _MOST_SECONDS))
    inputs = min(len(indices), _MOST_INPUTS, room // _LEAST_VOTES)
    if total / rate < _LONG_SECONDS or settings.runner_up or inputs < min(len(indices), _LEAST_INPUTS):
        return None
    votes = min(_MOST_VOTES, room // inputs)
    chosen = np.random.default_rng(settings.seed).permutation(np.asarray(indices))[:inputs]
    advice = advise(
        classifier,
        [classifier.noise],
        data.inputs(chosen),
        data.labels[chosen].tolist(),
        votes=votes,
        n0=settings.n0,
        n=settings.n,
        failure=settings.failure,
        stopping=settings.stopping,
        protected=data.protected(chosen),
        seed=settings.seed,
    )
    if not is_useful(advice):
        expected = "no radius of 1 or more is expected; see `ellzero advise`"
    else:
        expected = f"expected μ(R): about {format_mean(advice.options[0].expected.mean_radius)}"
    return f"{expected} (from {votes} votes on each of {inputs} inputs, not certified; --no-forecast skips this)"
