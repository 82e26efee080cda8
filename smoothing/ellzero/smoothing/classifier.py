"""The smoothed classifier: the whole of the method on one screen."""

import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch
from torch import Tensor, nn

from ellzero.certificates import Family
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0, DEFAULT_PREDICT_N
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.errors import UnreachableRadiusWarning
from ellzero.smoothing.models.card import Feed
from ellzero.smoothing.models.devices import autocast_type, find_device
from ellzero.smoothing.models.model_io import InputLike, Preprocess, check_feed, read_levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.registry import read_noise
from ellzero.smoothing.results import Certified, Predicted
from ellzero.smoothing.sampling.reach import explain_unreachable
from ellzero.smoothing.sampling.sampler import NoisySampler, SamplerOptions
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask, PredictTask, SamplingTask
from ellzero.smoothing.sampling.stopping_rules import Stopping

R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with the votes that are counted or not needed any more, and with the largest number that may be needed."""


class SmoothedClassifier:
    """g(x) = the most probable class of ``model`` on noisy copies of x, with certificates.

    Inputs are integers 0..K, or floats that are multiples of 1/K. In this order: ``noise`` on the levels; values scaled
    to [0, 1], or with ``feed="levels"`` the levels as int64; ``preprocess`` (standardising, say); ``model``, which must
    return scores of shape (samples, num_classes). It is put into evaluation mode and moved to ``device``.

    Votes depend on the seed, the noise and the input, not on batches or on other inputs. ``batch_size`` is chosen for
    the model and the device by default, and halved when memory runs out.
    """

    def __init__(
        self,
        model: nn.Module,
        noise: Family | NoiseFamily,
        num_classes: int,
        device: str | torch.device = "auto",
        *,
        feed: Feed | str = Feed.SCALED,
        preprocess: Preprocess | None = None,
        batch_size: int | None = None,
        channels_last: bool = True,
        autocast: str | None = None,
        compile: bool = False,  # noqa: A002
    ) -> None:
        self.noise = read_noise(noise)
        self.num_classes = read_integer(num_classes, "num_classes", 2)
        self.device = find_device(device)
        check_feed(self.noise, Feed.of(feed))
        options = SamplerOptions(
            feed=Feed.of(feed),
            preprocess=preprocess,
            batch_size=None if batch_size is None else read_integer(batch_size, "batch_size", 1),
            channels_last=channels_last,
            autocast=autocast_type(autocast, self.device),
            compile=compile,
        )
        self.sampler = NoisySampler(model, self.noise.levels, self.num_classes, self.device, options)

    def predict(
        self,
        x: InputLike,
        n: int = DEFAULT_PREDICT_N,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Predicted:
        """The most probable class under noise, with probability at least 1 − failure; or ABSTAIN.

        It abstains unless the class with most votes beats the second one in a two-sided binomial test.
        """
        levels = self.levels(x)
        task = PredictTask(levels, self.noise, self.num_classes, n, failure, make_seed(seed))
        return next(self._run([task], progress))

    def certify(
        self,
        x: InputLike,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        runner_up: bool = False,
        stopping: Stopping | str = Stopping.SETTLED,
        top_k: int = 1,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Certified:
        """A class and a radius R: with probability at least 1 − failure, g is that class wherever ‖x−x̄‖₀ ≤ R.

        n0 votes select the class; n *fresh* ones bound its probability (one-sided Clopper–Pearson) and the radius is
        read off the integers k*_r. ``runner_up`` bounds all other classes too, which can certify where p ≤ 1/2.
        ``top_k`` = k, at most C − 1, certifies that the class remains one of the k most probable: p > ρ⁻¹(1/(k+1)).
        Warns with ``UnreachableRadiusWarning`` if n votes cannot certify a radius of 1, whatever they are.
        """
        settings = CertifySettings.of(n0, n, failure, make_seed(seed), stopping, runner_up, top_k)
        task = self.task(x, settings)
        self._warn_if_unreachable(settings)
        return next(self._run([task], progress))

    def certify_many(
        self, inputs: Iterable[InputLike], settings: CertifySettings, progress: Progress | None = None
    ) -> Iterator[Certified]:
        """The same for many inputs, in their order; small ones share batches. Warns once, as `certify` does."""
        self._warn_if_unreachable(settings)
        return self._run((self.task(x, settings) for x in inputs), progress)

    def task(self, x: InputLike, settings: CertifySettings) -> CertifyTask:
        """The task of certifying an input, to be run by `sampler`, possibly together with others."""
        return CertifyTask(self.levels(x), self.noise, self.num_classes, settings)

    def levels(self, x: InputLike) -> Tensor:
        """An input as levels, checked, and padded where inputs may be of different lengths."""
        return self.noise.read_batch(read_levels(x, self.noise.levels).unsqueeze(0)).squeeze(0)

    def _warn_if_unreachable(self, settings: CertifySettings) -> None:
        unreachable = explain_unreachable(self.noise, settings, self.num_classes)
        if unreachable is not None:
            warnings.warn(unreachable, UnreachableRadiusWarning, stacklevel=3)

    def _run(self, tasks: Iterable[SamplingTask[R]], progress: Progress | None) -> Iterator[R]:
        if progress is None:
            return self.sampler.run(tasks)
        return self.sampler.run(tasks, lambda task: progress(task.done, task.total))


def make_seed(seed: int | None) -> int:
    """A random seed by default; results contain it, so that they can be reproduced."""
    return secrets.randbits(63) if seed is None else seed
