"""The state of one input's vote: what is still wanted, what has come, and the result."""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, NamedTuple, Protocol, TypeVar

from torch import Tensor

from ellzero.certificates import outvotes
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_failure, read_integer
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.random_streams import Stage, block_samples, stream_key
from ellzero.smoothing.results import ABSTAIN, Certified, Predicted
from ellzero.smoothing.sampling.stopping_rules import Stopping, StoppingRule, Tally, make_rule

R_co = TypeVar("R_co", covariant=True)

# How often a rule is asked whether it is over: asking costs milliseconds, votes left undrawn save more.
_LOOKS = 64


class SampleRange(NamedTuple):
    """Samples start..stop−1 of a block of a stage."""

    stage: Stage
    block: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class CertifySettings:
    """What is asked of an input, checked."""

    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: Stopping
    runner_up: bool

    @classmethod
    def of(
        cls,
        n0: int,
        n: int,
        failure: RationalLike,
        seed: int,
        stopping: Stopping | str = Stopping.SETTLED,
        runner_up: bool = False,
    ) -> "CertifySettings":
        try:
            chosen = Stopping(stopping)
        except ValueError:
            raise InvalidInput("stopping", " or ".join(Stopping), stopping) from None
        if runner_up and chosen is Stopping.ANYTIME:
            raise InvalidInput("stopping", "settled or never with runner_up", str(chosen))
        return cls(
            read_integer(n0, "n0", 1, MAX_VOTES),
            read_integer(n, "n", 1, MAX_VOTES),
            read_failure(failure),
            read_integer(seed, "seed", 0, 2**63 - 1),
            chosen,
            bool(runner_up),
        )


@dataclass
class _Count:
    """Votes of one stage, which come in order."""

    stage: Stage
    wanted: int
    counts: list[int]
    asked: int = 0  # samples that have been taken to be drawn

    @property
    def drawn(self) -> int:
        return sum(self.counts)


class SamplingTask(Protocol, Generic[R_co]):
    """One input's vote, fed by whoever draws samples."""

    @property
    def x(self) -> Tensor:
        """The input."""

    @property
    def noise(self) -> NoiseFamily:
        """What is put on it."""

    @property
    def key(self) -> bytes:
        """Names its streams."""

    @property
    def block(self) -> int:
        """How many samples a block has."""

    @property
    def total(self) -> int:
        """How many votes there may be in all."""

    @property
    def done(self) -> int:
        """How many of them are in, or not needed any more."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Votes by class so far, of the present stage."""

    def take(self, most: int, split: bool) -> SampleRange | None:
        """The samples of a block that may be drawn next, up to ``most``; None if there are more and they may not be
        split, or none."""

    def give_back(self, piece: SampleRange) -> None:
        """The samples of a piece, and any taken after it, were not drawn after all."""

    def count(self, votes: list[int]) -> None:
        """Votes by class of samples that were taken, in the order in which they were."""

    def result(self) -> R_co | None:
        """The result, once no more votes are wanted."""


class _Votes(ABC):
    """What both kinds of tasks share: the present stage's samples are handed out and counted in order."""

    def __init__(self, x: Tensor, noise: NoiseFamily, classes: int, seed: int, stage: Stage, wanted: int) -> None:
        self.x, self.noise, self.seed = x, noise, seed
        self.key = stream_key(seed, noise.tag, x)
        self.block = block_samples(x.numel())
        self.classes = classes
        self._now = _Count(stage, wanted, [0] * classes)
        self._started = time.perf_counter()

    def take(self, most: int, split: bool) -> SampleRange | None:
        now = self._now
        block = now.asked // self.block
        # No sample beyond the next look is drawn: the look may find that it is not needed.
        stop = min((block + 1) * self.block, self._look_after(now.drawn))
        if split:
            stop = min(stop, now.asked + most)
        if self.result() is not None or not now.asked < stop <= now.asked + most:
            return None
        piece = SampleRange(now.stage, block, now.asked - block * self.block, stop - block * self.block)
        now.asked = stop
        return piece

    def give_back(self, piece: SampleRange) -> None:
        self._now.asked = min(self._now.asked, piece.block * self.block + piece.start)

    def count(self, votes: list[int]) -> None:
        for label, more in enumerate(votes):
            self._now.counts[label] += more
        if self._now.drawn == self._look_after(self._now.drawn - 1):
            self._look()

    @abstractmethod
    def result(self) -> object | None:
        """The result, once no more votes are wanted."""

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(self._now.counts)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def _look_after(self, drawn: int) -> int:
        """How many votes are in at the next look: the same whatever the batches are, and so is where a vote stops."""
        step = -(-self._now.wanted // (_LOOKS * self.block)) * self.block
        return min(self._now.wanted, (drawn // step + 1) * step)

    @abstractmethod
    def _look(self) -> None:
        """See what the votes that are in mean."""


class CertifyTask(_Votes):
    """n0 votes select a class, then n fresh ones bound its probability."""

    def __init__(self, x: Tensor, noise: NoiseFamily, classes: int, settings: CertifySettings) -> None:
        super().__init__(x, noise, classes, settings.seed, Stage.SELECT, settings.n0)
        self.settings = settings
        self._d = noise.dimension(x.shape)
        self._rule: StoppingRule = make_rule(
            noise, self._d, settings.n, settings.failure, settings.stopping, settings.runner_up
        )
        self._selection: tuple[int, ...] = ()
        self._result: Certified | None = None

    @property
    def total(self) -> int:
        return self.settings.n0 + self.settings.n

    @property
    def done(self) -> int:
        if self._result is not None:
            return self.total
        return self._now.drawn + (0 if self._now.stage is Stage.SELECT else self.settings.n0)

    def result(self) -> Certified | None:
        return self._result

    def _look(self) -> None:
        if self._now.stage is Stage.SELECT:
            if self._now.drawn == self.settings.n0:
                self._selection = tuple(self._now.counts)
                self._now = _Count(Stage.BOUND, self.settings.n, [0] * self.classes)
            return
        tally = Tally(tuple(self._now.counts), _most(self._selection), self.settings.n)
        early = self.settings.stopping is not Stopping.NEVER and self._rule.is_finished(tally)
        if early or not tally.undrawn:
            self._finish(tally)

    def _finish(self, tally: Tally) -> None:
        certificate = self._rule.certify(tally)
        settings = self.settings
        self._result = Certified(
            prediction=ABSTAIN if certificate.radius is None else tally.chosen,
            radius=certificate.radius,
            selected=tally.chosen,
            count=tally.count,
            drawn=tally.drawn,
            counts=tally.counts,
            selection=self._selection,
            lower_bound=certificate.lower,
            upper_bound=certificate.upper,
            other_radii=dict(self.noise.other_radii(certificate.lower, self._d)),
            n0=settings.n0,
            n=settings.n,
            failure=settings.failure,
            seed=settings.seed,
            stopping=settings.stopping,
            noise=dict(self.noise.description()),
            d=self._d,
            seconds=self.seconds,
        )


class PredictTask(_Votes):
    """n votes; the most frequent class must beat the second in a two-sided binomial test."""

    def __init__(self, x: Tensor, noise: NoiseFamily, classes: int, n: int, failure: RationalLike, seed: int) -> None:
        self._n = read_integer(n, "n", 1, MAX_VOTES)
        self._failure = read_failure(failure)
        super().__init__(x, noise, classes, read_integer(seed, "seed", 0, 2**63 - 1), Stage.PREDICT, self._n)
        self._result: Predicted | None = None

    @property
    def total(self) -> int:
        return self._n

    @property
    def done(self) -> int:
        return self._n if self._result is not None else self._now.drawn

    def result(self) -> Predicted | None:
        return self._result

    def _look(self) -> None:
        """A winner who wins even if all votes left go to the second is the winner of all n."""
        counts = tuple(self._now.counts)
        left = self._n - self._now.drawn
        top = _most(counts)
        second = max((count for label, count in enumerate(counts) if label != top), default=0)
        won = outvotes(counts[top], second + left, self._failure)
        if won or not left:
            self._result = Predicted(
                prediction=top if won else ABSTAIN,
                counts=counts,
                drawn=self._now.drawn,
                n=self._n,
                failure=self._failure,
                seed=self.seed,
                noise=dict(self.noise.description()),
                seconds=self.seconds,
            )


def _most(counts: tuple[int, ...]) -> int:
    """The class with most votes; the first of several."""
    return max(range(len(counts)), key=counts.__getitem__)
