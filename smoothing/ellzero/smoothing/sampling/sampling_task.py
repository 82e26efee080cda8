"""The votes on one input: which samples are still needed, the counts so far, and the result."""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from numpy.typing import NDArray

from ellzero.certificates import outvotes
from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.certificates.certified_budgets import MAX_TOP_K
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_failure, read_integer
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.protected import Mask, count_free
from ellzero.smoothing.noise.random_streams import Stage, block_samples, stream_key
from ellzero.smoothing.results import ABSTAIN, Certified, LookResult, Predicted
from ellzero.smoothing.sampling.stopping_rules import Stopping, StoppingRule, Tally, make_rule

R_co = TypeVar("R_co", covariant=True)

# How often the stopping rule is checked: a check costs milliseconds, votes that need not be drawn save more.
_CHECKS = 64


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
    """How an input is certified: numbers of votes, failure probability, seed and stopping, all checked.

    ``top_k``: the class is to remain one of the k most probable.
    """

    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: Stopping
    runner_up: bool
    top_k: int = 1

    @classmethod
    def of(
        cls,
        n0: int,
        n: int,
        failure: RationalLike,
        seed: int,
        stopping: Stopping | str = Stopping.SETTLED,
        runner_up: bool = False,
        top_k: int = 1,
    ) -> "CertifySettings":
        """Settings from values that are checked here."""
        try:
            stopping = Stopping(stopping)
        except ValueError:
            raise InvalidInput("stopping", " or ".join(Stopping), stopping) from None
        if runner_up and stopping is Stopping.ANYTIME:
            raise InvalidInput("stopping", "settled, staged, hasty or never with runner_up", str(stopping))
        return cls(
            read_integer(n0, "n0", 1, MAX_VOTES),
            read_integer(n, "n", 1, MAX_VOTES),
            read_failure(failure),
            read_integer(seed, "seed", 0, 2**63 - 1),
            stopping,
            bool(runner_up),
            read_integer(top_k, "top_k", 1, MAX_TOP_K),
        )


@dataclass
class _StageVotes:
    """The votes of one stage: ``size`` samples, which are claimed and counted in order."""

    stage: Stage
    size: int
    counts: list[int]
    next_sample: int = 0  # the first that nobody has claimed

    @property
    def drawn(self) -> int:
        return sum(self.counts)


class SamplingTask(Protocol, Generic[R_co]):
    """The votes on one input: says which samples to draw next, and counts what the model says of them."""

    @property
    def x(self) -> NDArray[Any]:
        """The input, as levels."""

    @property
    def noise(self) -> NoiseFamily:
        """The noise to add to it."""

    @property
    def protected(self) -> Mask | None:
        """The units that noise does not strike; None if it strikes all."""

    @property
    def key(self) -> bytes:
        """The name of its random streams."""

    @property
    def block(self) -> int:
        """How many samples a block has."""

    @property
    def total(self) -> int:
        """The largest number of votes that may be needed."""

    @property
    def done(self) -> int:
        """How many of them are counted, or not needed any more."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Votes by class so far, of the present stage."""

    def claim(self, most: int, split: bool) -> SampleRange | None:
        """Claim the next samples of a block, at most ``most``. None if there are none, or if there are more than
        ``most`` and ``split`` does not allow to claim only some."""

    def release(self, samples: SampleRange) -> None:
        """Give up the claim to samples that could not be drawn, and to all claimed after them."""

    def count(self, votes: list[int]) -> None:
        """Count votes by class, of samples in the order in which they were claimed."""

    def result(self) -> R_co | None:
        """The result, once no more votes are needed."""


class _CountingTask(ABC):
    """What both kinds of tasks share: the samples of the present stage are claimed and counted in order."""

    def __init__(
        self,
        x: NDArray[Any],
        noise: NoiseFamily,
        classes: int,
        seed: int,
        stage: Stage,
        size: int,
        protected: Mask | None = None,
    ) -> None:
        self.x, self.noise, self.seed, self.protected = x, noise, seed, protected
        self.key = stream_key(seed, noise.tag, x, protected)
        self.block = block_samples(x.size)
        self.classes = classes
        self._votes = _StageVotes(stage, size, [0] * classes)
        self._started = time.perf_counter()

    def claim(self, most: int, split: bool) -> SampleRange | None:
        if self.result() is not None:
            return None
        votes = self._votes
        block = votes.next_sample // self.block
        # No sample beyond the next check is drawn: the check may find that it is not needed.
        stop = min((block + 1) * self.block, self._next_check(votes.drawn))
        if split:
            stop = min(stop, votes.next_sample + most)
        if not votes.next_sample < stop <= votes.next_sample + most:
            return None
        samples = SampleRange(votes.stage, block, votes.next_sample - block * self.block, stop - block * self.block)
        votes.next_sample = stop
        return samples

    def release(self, samples: SampleRange) -> None:
        self._votes.next_sample = min(self._votes.next_sample, samples.block * self.block + samples.start)

    def count(self, votes: list[int]) -> None:
        for label, more in enumerate(votes):
            self._votes.counts[label] += more
        if self._votes.drawn == self._next_check(self._votes.drawn - 1):
            self._check_votes()

    @abstractmethod
    def result(self) -> object | None:
        """The result, once no more votes are needed."""

    @property
    def counts(self) -> tuple[int, ...]:
        return tuple(self._votes.counts)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def _next_check(self, drawn: int) -> int:
        """How many votes are counted at the next check. It does not depend on batches, and so neither does the vote
        after which a task stops."""
        step = -(-self._votes.size // (_CHECKS * self.block)) * self.block
        return min(self._votes.size, (drawn // step + 1) * step)

    @abstractmethod
    def _check_votes(self) -> None:
        """Go to the next stage, or set the result, if the votes so far allow it."""


class CertifyTask(_CountingTask):
    """n0 votes select a class, then n fresh ones bound its probability."""

    def __init__(
        self,
        x: NDArray[Any],
        noise: NoiseFamily,
        classes: int,
        settings: CertifySettings,
        protected: Mask | None = None,
    ) -> None:
        super().__init__(x, noise, classes, settings.seed, Stage.SELECT, settings.n0, protected)
        self.settings = settings
        self._d = count_free(noise, x.shape, protected)
        top_k = read_integer(settings.top_k, "top_k", 1, classes - 1)  # one of all classes it always is
        self._rule: StoppingRule = make_rule(
            noise, self._d, settings.n, settings.failure, settings.stopping, settings.runner_up, top_k
        )
        self._selection: tuple[int, ...] = ()
        self._looks: list[tuple[int, ...]] = []  # the counts at each look so far, for rules that have looks
        self._result: Certified | None = None

    @property
    def total(self) -> int:
        return self.settings.n0 + self.settings.n

    @property
    def done(self) -> int:
        if self._result is not None:
            return self.total
        return self._votes.drawn + (0 if self._votes.stage is Stage.SELECT else self.settings.n0)

    def result(self) -> Certified | None:
        return self._result

    def _next_check(self, drawn: int) -> int:
        if self._votes.stage is Stage.BOUND and self._rule.looks:
            return next(look.n for look in self._rule.looks if look.n > drawn)
        return super()._next_check(drawn)

    def _check_votes(self) -> None:
        if self._votes.stage is Stage.SELECT:
            if self._votes.drawn == self.settings.n0:
                self._selection = tuple(self._votes.counts)
                self._votes = _StageVotes(Stage.BOUND, self.settings.n, [0] * self.classes)
            return
        if self._rule.looks:
            self._looks.append(self.counts)
        tally = Tally(self.counts, _most(self._selection), self.settings.n, tuple(self._looks))
        early = self.settings.stopping is not Stopping.NEVER and self._rule.is_finished(tally)
        if early or not tally.undrawn:
            self._finish(tally)

    def _finish(self, tally: Tally) -> None:
        certificate = self._rule.certify(tally)
        settings = self.settings
        self._result = Certified(
            prediction=ABSTAIN if certificate.radius is None else tally.selected,
            radius=certificate.radius,
            selected=tally.selected,
            count=tally.count,
            drawn=tally.drawn,
            counts=tally.counts,
            selection=self._selection,
            lower_bound=certificate.lower,
            upper_bound=certificate.upper,
            looks=tuple(
                LookResult(look.n, look.failure, counts[tally.selected], _strongest_other(counts, tally.selected))
                for look, counts in zip(self._rule.looks, tally.looks, strict=False)
            ),
            other_radii=dict(self.noise.other_radii(certificate.lower, self._d)),
            n0=settings.n0,
            n=settings.n,
            failure=settings.failure,
            seed=settings.seed,
            stopping=settings.stopping,
            noise=dict(self.noise.description()),
            d=self._d,
            protected=0 if self.protected is None else int(self.protected.sum()),
            seconds=self.seconds,
            top_k=settings.top_k,
        )


class PredictTask(_CountingTask):
    """n votes; the most frequent class must beat the second in a two-sided binomial test."""

    def __init__(
        self,
        x: NDArray[Any],
        noise: NoiseFamily,
        classes: int,
        n: int,
        failure: RationalLike,
        seed: int,
        protected: Mask | None = None,
    ) -> None:
        self._n = read_integer(n, "n", 1, MAX_VOTES)
        self._failure = read_failure(failure)
        seed = read_integer(seed, "seed", 0, 2**63 - 1)
        super().__init__(x, noise, classes, seed, Stage.PREDICT, self._n, protected)
        self._result: Predicted | None = None

    @property
    def total(self) -> int:
        return self._n

    @property
    def done(self) -> int:
        return self._n if self._result is not None else self._votes.drawn

    def result(self) -> Predicted | None:
        return self._result

    def _check_votes(self) -> None:
        """A class that wins even if all remaining votes go to the second is the winner of all n."""
        counts = tuple(self._votes.counts)
        left = self._n - self._votes.drawn
        top = _most(counts)
        second = max((count for label, count in enumerate(counts) if label != top), default=0)
        won = outvotes(counts[top], second + left, self._failure)
        if won or not left:
            self._result = Predicted(
                prediction=top if won else ABSTAIN,
                counts=counts,
                drawn=self._votes.drawn,
                n=self._n,
                failure=self._failure,
                seed=self.seed,
                noise=dict(self.noise.description()),
                seconds=self.seconds,
            )


class CountTask(_CountingTask):
    """All of n votes, whatever they are: no certificate has any of them, since their ``stage`` is another.

    With a ``number`` an input has streams that no equal input shares.
    """

    def __init__(
        self,
        x: NDArray[Any],
        noise: NoiseFamily,
        classes: int,
        n: int,
        seed: int,
        stage: Stage,
        protected: Mask | None = None,
        number: int | None = None,
    ) -> None:
        self.total = read_integer(n, "n", 1, MAX_VOTES)
        super().__init__(x, noise, classes, read_integer(seed, "seed", 0, 2**63 - 1), stage, self.total, protected)
        if number is not None:
            self.key = stream_key(seed, f"{noise.tag} number={number}", x, protected)

    @property
    def done(self) -> int:
        return self._votes.drawn

    def result(self) -> tuple[int, ...] | None:
        return self.counts if self.done == self.total else None

    def _next_check(self, drawn: int) -> int:
        return self.total

    def _check_votes(self) -> None:
        """Nothing is decided here."""


def _strongest_other(counts: tuple[int, ...], selected: int) -> int:
    """The votes of the strongest class but the selected one."""
    return max(count for label, count in enumerate(counts) if label != selected)


def _most(counts: tuple[int, ...]) -> int:
    """The class with most votes; the first of several."""
    return max(range(len(counts)), key=counts.__getitem__)
