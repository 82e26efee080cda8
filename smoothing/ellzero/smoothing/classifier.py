"""The smoothed classifier: the whole of the method on one screen."""

import secrets
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from ellzero.certificates import Family
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N, DEFAULT_N0, DEFAULT_PREDICT_N
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.smoothing.errors import UnreachableRadiusWarning
from ellzero.smoothing.models.feed import Feed
from ellzero.smoothing.models.model_io import InputLike, check_feed, read_levels
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.protected import Mask, MaskLike, pair_masks, read_input
from ellzero.smoothing.noise.registry import read_noise
from ellzero.smoothing.results import Certified, Predicted
from ellzero.smoothing.sampling.reach import explain_unreachable
from ellzero.smoothing.sampling.sampler import NoisySampler
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask, PredictTask, SamplingTask
from ellzero.smoothing.sampling.stopping_rules import Stopping
from ellzero.smoothing.voters.base import Preprocess
from ellzero.smoothing.voters.kinds import AnyModel, VoterOptions, make_voter
from ellzero.smoothing.voters.remote_voter import RemoteModel

if TYPE_CHECKING:
    import torch

R = TypeVar("R")

Progress = Callable[[int, int], None]
"""Called with the votes that are counted or not needed any more, and with the largest number that may be needed."""


class SmoothedClassifier:
    """g(x) = the most probable class of ``model`` on noisy copies of x, with certificates.

    Inputs are integers 0..K, or floats that are multiples of 1/K. In this order: ``noise`` on the levels; values scaled
    to [0, 1], or with ``feed="levels"`` the levels as int64; ``preprocess`` (standardising, say); ``model``, one of:

    * A torch module that returns scores of shape (samples, num_classes), or an output with such ``logits``. It is put
      into evaluation mode and moved to ``device``. If ``preprocess`` returns a mapping, it gets the items as keywords.
    * A fitted scikit-learn classifier. Samples are flattened to rows; classes are the indices of its ``classes_``, so
      that ``num_classes`` may be left out, and a ``prediction`` is such an index.
    * Any other callable: a numpy array of samples in, integer labels 0..num_classes−1 or scores out. `RemoteModel` is
      for one that is called over a connection.

    Votes depend on the seed, the noise and the input, not on batches or on other inputs. ``batch_size`` is chosen for
    the model and the device by default, and halved when memory runs out. ``device``, ``channels_last``, ``autocast``
    and ``compile`` are for torch modules.
    """

    def __init__(
        self,
        model: AnyModel,
        noise: Family | NoiseFamily,
        num_classes: int | None = None,
        device: "str | torch.device" = "auto",
        *,
        feed: Feed | str = Feed.SCALED,
        preprocess: Preprocess | None = None,
        batch_size: int | None = None,
        channels_last: bool = True,
        autocast: str | None = None,
        compile: bool = False,  # noqa: A002
    ) -> None:
        self.noise = read_noise(noise)
        check_feed(self.noise, Feed.of(feed))
        if batch_size is not None:
            read_integer(batch_size, "batch_size", 1)
            if isinstance(model, RemoteModel):
                raise InvalidInput("batch_size", "left out for a RemoteModel, which has its own", batch_size)
        voter = make_voter(model, num_classes, VoterOptions(device, preprocess, channels_last, autocast, compile))
        self.num_classes = voter.classes
        self.sampler = NoisySampler(voter, self.noise.levels, Feed.of(feed), batch_size)

    @property
    def device(self) -> "torch.device | None":
        """Where noise is drawn and the model runs; None if that is numpy and a model without torch."""
        return self.sampler.voter.device

    def predict(
        self,
        x: InputLike,
        n: int = DEFAULT_PREDICT_N,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        protected: MaskLike | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Predicted:
        """The most probable class under noise, with probability at least 1 − failure; or ABSTAIN.

        It abstains unless the class with most votes beats the second one in a two-sided binomial test. ``protected`` as
        in `certify`.
        """
        levels, mask = self.read_input(x, protected)
        task = PredictTask(levels, self.noise, self.num_classes, n, failure, make_seed(seed), mask)
        return next(self._run([task], progress))

    def certify(
        self,
        x: InputLike,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: RationalLike = DEFAULT_FAILURE,
        *,
        protected: MaskLike | None = None,
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
        ``protected``: booleans in the shape of x, True at positions that noise leaves alone and no adversary can change
        (padding, [CLS], a prompt's template); x̄ is then any input that agrees with x there.
        Warns with ``UnreachableRadiusWarning`` if n votes cannot certify a radius of 1, whatever they are.
        """
        settings = CertifySettings.of(n0, n, failure, make_seed(seed), stopping, runner_up, top_k)
        task = self.task(x, settings, protected)
        self._warn_if_unreachable(settings)
        return next(self._run([task], progress))

    def certify_many(
        self,
        inputs: Iterable[InputLike],
        settings: CertifySettings,
        progress: Progress | None = None,
        *,
        protected: Iterable[MaskLike | None] | None = None,
    ) -> Iterator[Certified]:
        """The same for many inputs, in their order, of one shape or several; small ones share batches.

        ``protected`` has what `certify` takes, for each input. Warns once, as `certify` does.
        """
        self._warn_if_unreachable(settings)
        pairs = pair_masks(inputs, protected)
        return self._run((self.task(x, settings, mask) for x, mask in pairs), progress)

    def task(self, x: InputLike, settings: CertifySettings, protected: MaskLike | None = None) -> CertifyTask:
        """The task of certifying an input, to be run by `sampler`, possibly together with others."""
        levels, mask = self.read_input(x, protected)
        return CertifyTask(levels, self.noise, self.num_classes, settings, mask)

    def levels(self, x: InputLike) -> NDArray[Any]:
        """An input as levels, checked, and padded where inputs may be of different lengths."""
        return self.read_input(x)[0]

    def read_input(self, x: InputLike, protected: MaskLike | None = None) -> tuple[NDArray[Any], Mask | None]:
        """An input as levels and its protected positions, checked, as tasks take them."""
        return read_input(self.noise, read_levels(x, self.noise.levels), protected)

    def with_noise(self, noise: Family | NoiseFamily) -> "SmoothedClassifier":
        """The same model, not loaded again, under another noise on inputs of the same levels."""
        other = copy(self)
        other.noise = read_noise(noise)
        if other.noise.levels != self.noise.levels:
            raise InvalidInput("noise", f"for levels 0..{self.noise.levels - 1}", f"levels 0..{other.noise.levels - 1}")
        check_feed(other.noise, self.sampler.feed)
        return other

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
