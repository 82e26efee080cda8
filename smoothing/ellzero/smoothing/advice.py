"""Which noise to use: what a full run is expected to give under each of several, from some votes on a few inputs.

An expectation to choose by, never a certificate. Its votes are drawn from streams of their own, so that no certificate
has any of them, even on the same inputs with the same seed.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from numpy.typing import NDArray

from ellzero.certificates import Family
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.forecast import Forecast, make_forecast
from ellzero.smoothing.models.model_io import InputLike
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.protected import Mask, MaskLike, count_free
from ellzero.smoothing.noise.random_streams import Stage
from ellzero.smoothing.sampling.radius_steps import list_least_counts
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CountTask
from ellzero.smoothing.sampling.stopping_rules import Stopping

DEFAULT_ADVICE_VOTES = 500
_WARM_UP_VOTES = 16

Progress = Callable[[int, int], None]
"""Called with the inputs that are done, under all noises, and with their number."""


@dataclass(frozen=True)
class NoiseAdvice:
    """A noise and what is expected under it; ``counts`` are the votes by class of each input."""

    noise: NoiseFamily
    expected: Forecast
    seconds_per_vote: float
    dimensions: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Advice:
    """What certificates by n0 + n votes are expected to give under each noise. Nothing in it is certified.

    ``labels`` of the inputs, or None: radii then count whatever the prediction is.
    """

    options: tuple[NoiseAdvice, ...]
    settings: CertifySettings
    votes: int
    labels: tuple[int, ...] | None

    @property
    def inputs(self) -> int:
        """How many inputs were asked."""
        return len(self.options[0].counts)

    def best(self, target: int | None = None) -> NoiseAdvice:
        """The noise with the largest expected μ(R), or ACC@target; of several the first one."""
        return max(self.options, key=lambda option: option.expected.score(target).value)

    def rivals(self, target: int | None = None) -> tuple[NoiseAdvice, ...]:
        """The noises that these votes do not tell from the best one: it does not beat them."""
        best = self.best(target)
        return tuple(
            option for option in self.options if option is not best and not best.expected.beats(option.expected, target)
        )

    def at(self, n: int) -> "Advice":
        """The same for another number n of votes in the full run, from the same votes."""
        settings = replace(self.settings, n=read_integer(n, "n", 1, MAX_VOTES))
        options = tuple(
            replace(each, expected=_forecast(each.noise, each.dimensions, each.counts, self.labels, settings))
            for each in self.options
        )
        return replace(self, options=options, settings=settings)


def advise(
    classifier: SmoothedClassifier,
    noises: Iterable[Family | NoiseFamily],
    inputs: Iterable[InputLike],
    labels: Iterable[int] | None = None,
    *,
    votes: int = DEFAULT_ADVICE_VOTES,
    n0: int = DEFAULT_N0,
    n: int = DEFAULT_N,
    failure: RationalLike = DEFAULT_FAILURE,
    stopping: Stopping | str = Stopping.STAGED,
    protected: Iterable[MaskLike | None] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Expected μ(R) and ACC@r of the classifier's model under each noise, from ``votes`` votes on each input.

    The inputs should be a random sample of those that are to be certified, or like them, and not those that the model
    learned from. ``n0``, ``n``, ``failure`` and ``stopping`` are those of the full run; hasty stopping is taken for
    staged, of which it loses a little. Without ``labels`` radii count whatever the prediction is, right or wrong.
    ``protected`` has the protected positions of each input, as `SmoothedClassifier.certify` takes them.
    Choosing a noise by advice leaves later certificates as they are: their votes are others.
    """
    chosen_seed = secrets.randbits(63) if seed is None else seed
    settings = CertifySettings.of(n0, n, failure, chosen_seed, stopping)
    read_integer(votes, "votes", 1, MAX_VOTES)
    arrays = list(inputs)
    if not arrays:
        raise InvalidInput("inputs", "at least one", 0)
    masks = [None] * len(arrays) if protected is None else list(protected)
    if len(masks) != len(arrays):
        raise InvalidInput("protected", f"given for each of {len(arrays)} inputs", len(masks))
    classes = None if labels is None else _read_labels(labels, len(arrays), classifier.num_classes)
    classifiers = [classifier.with_noise(noise) for noise in noises]
    if not classifiers:
        raise InvalidInput("noises", "at least one", 0)
    options: list[NoiseAdvice] = []
    for done, other in enumerate(classifiers):
        xs = [other.read_input(x, mask) for x, mask in zip(arrays, masks, strict=True)]
        if not options:  # the first batches choose their size and are slow
            list(other.sampler.run([_make_task(other, *xs[0], _WARM_UP_VOTES, chosen_seed)]))
        start = time.perf_counter()
        counts: list[tuple[int, ...]] = []
        for each in other.sampler.run(_make_task(other, *x, votes, chosen_seed) for x in xs):
            counts.append(each)
            if progress is not None:
                progress(done * len(xs) + len(counts), len(classifiers) * len(xs))
        seconds = (time.perf_counter() - start) / (votes * len(xs))
        dimensions = tuple(count_free(other.noise, x.shape, mask) for x, mask in xs)
        expected = _forecast(other.noise, dimensions, counts, classes, settings)
        options.append(NoiseAdvice(other.noise, expected, seconds, dimensions, tuple(counts)))
    return Advice(tuple(options), settings, votes, classes)


def _make_task(classifier: SmoothedClassifier, x: NDArray[Any], mask: Mask | None, votes: int, seed: int) -> CountTask:
    return CountTask(x, classifier.noise, classifier.num_classes, votes, seed, Stage.ADVISE, mask)


def _forecast(
    noise: NoiseFamily,
    dimensions: Sequence[int],
    counts: Sequence[Sequence[int]],
    labels: Sequence[int] | None,
    settings: CertifySettings,
) -> Forecast:
    list_steps = lru_cache(maxsize=None)(lambda d: list_least_counts(noise, d, settings))
    return make_forecast(counts, labels, [list_steps(d) for d in dimensions], settings.n0, settings.n)


def _read_labels(labels: Iterable[int], inputs: int, classes: int) -> tuple[int, ...]:
    read = tuple(read_integer(label, "labels", 0, classes - 1) for label in labels)
    if len(read) != inputs:
        raise InvalidInput("labels", f"one for each of {inputs} inputs", len(read))
    return read
