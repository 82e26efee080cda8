"""Questions to answers, without blocking: what is at hand is answered at once, the rest in threads and within a limit.

Concurrent questions that need the same missing column wait for one computation of it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ellzero.certificates import InvalidInput, Noise, Votes
from ellzero.certificates._inputs import probability
from ellzero.certificates.commands import duration
from ellzero.certificates.errors import Stopped
from ellzero.certificates.stopping import stopping_when
from ellzero.certificates.votes import likely_lower_bound
from ellzero.client.answers import CompareAnswer, PlanAnswer, RadiiAnswer, RadiiArray, RadiusAnswer, TablesAnswer
from ellzero.serve import costs, deadline
from ellzero.serve.fields import MOST_VALUES
from ellzero.serve.metrics import Metrics
from ellzero.serve.problems import Problem
from ellzero.serve.questions import (
    FAILURE,
    POWER,
    ArrayQuestion,
    CompareQuestion,
    Exact,
    PlanQuestion,
    RadiiQuestion,
    RadiusQuestion,
    ThresholdsQuestion,
)
from ellzero.serve.settings import ServeSettings
from ellzero.tables import FoundColumn, ThresholdIndex, answering
from ellzero.tables.found import Located
from ellzero.tables.known import MOST_KEPT_ROWS
from ellzero.tables.reference import LOCATION
from ellzero.tables.rows import DIGITS

T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_ZERO = Fraction(0)
_LAST_ROW = 1 - Fraction(1, 10**DIGITS)  # rows end where thresholds round up to 1


class Demand(NamedTuple):
    """The largest probability below 1 that is asked; how many are not plain doubles; how many lie beyond all rows."""

    reach: Fraction
    written: int = 0
    beyond: int = 0


class Service:
    """Answers from a table that may be exchanged while it runs."""

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._index = ThresholdIndex({})
        self._walks: dict[Noise, asyncio.Future[None]] = {}
        self._pool = ThreadPoolExecutor(settings.compute_threads, "ellzero-compute")
        self._name = settings.tables or "reference"
        self._closing = False

    def load(self) -> None:
        """Load the table, or load it anew: requests go on with the old one until the new one is whole."""
        # Arrow's other pools keep what reading took for the next time, which may never come.
        pa.set_memory_pool(pa.system_memory_pool())
        index = ThresholdIndex.open(self._settings.tables or str(LOCATION), self._settings.write_back)
        pa.default_memory_pool().release_unused()
        self._index = index
        self._metrics.columns_loaded.set(len(index.noises))
        _LOG.info("table loaded", extra={"fields": {"table": self._name, "columns": len(index.noises)}})

    def close(self) -> None:
        """Let go of the threads: work that has not begun is dropped, and what is under way stops soon."""
        self._closing = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def radius(self, question: RadiusQuestion) -> RadiusAnswer:
        """The radius of a probability, with a runner-up perhaps, or of votes; and why."""
        noise, d, votes, top = question.noise, question.d, question.votes, question.p
        if votes is not None:
            await self._bring(noise, _reach(votes), d)
            return await self.compute(answering.answer_votes, self._index, noise, votes, d)
        if question.p_b is None:
            return await self.radius_of_p(noise, d, str(top))
        p, p_b = probability(top, "p"), probability(question.p_b, "p_b")
        self._afford(costs.two_class_seconds(noise, min(p_b, 1 - p), d))
        await self._bring(noise, max(p, 1 - p_b), d)
        return await self.compute(answering.answer_two_classes, self._index, noise, top, question.p_b, d)

    async def radius_of_p(self, noise: Noise, d: int, written: str) -> RadiusAnswer:
        """The radius of a probability alone; and why."""
        p = probability(written, "p")
        located = self._index.find(noise, p, d)
        if located is None:
            await self._bring(noise, p, d)
            located = await self._settled(noise, p, d)
        return answering.explained(noise, p, d, located, written)

    async def radii(self, question: RadiiQuestion) -> RadiiAnswer:
        """The radii of many probabilities, or of many counts."""
        noise, d, counts, values = question.noise, question.d, question.count, question.p or []
        if counts is not None and question.n is not None:
            failure = FAILURE if question.failure is None else question.failure
            await self._bring_counts(noise, np.array(counts), question.n, failure, d)
            return await self.compute(answering.answer_counts, self._index, noise, counts, question.n, failure, d)
        await self._bring_all(noise, await self.compute(_reach_of_numbers, values), len(values), question.p_b, d)
        return await self.compute(answering.answer_list, self._index, noise, values, d, question.p_b)

    async def array(self, question: ArrayQuestion, values: NDArray[Any]) -> RadiiArray:
        """The radii of an array of probabilities, or of counts."""
        noise, d = question.noise, question.d
        failure = FAILURE if question.failure is None else question.failure
        if len(values) > MOST_VALUES:
            raise InvalidInput("body", f"an array of at most {MOST_VALUES:,} values", f"{len(values):,} values")
        if question.n is not None:
            await self._bring_counts(noise, values, question.n, failure, d)
        else:
            await self._bring_all(noise, Demand(_largest_below_one(values)), len(values), question.p_b, d)
        arguments = (values, d, question.n, failure, question.p_b)
        return await self.compute(answering.answer_array, self._index, noise, *arguments)

    async def thresholds(self, question: ThresholdsQuestion) -> FoundColumn:
        """A column, up to a radius or up to saturation."""
        noise, r_max, index = question.noise, question.r_max, self._index
        self._afford(costs.sending_seconds(noise, r_max))
        have, expected_seconds = partial(index.is_whole, noise, r_max), costs.column_seconds(noise, r_max)
        if have() or costs.rows(noise, r_max) <= MOST_KEPT_ROWS:
            await self._once(noise, have, partial(index.extend_to, noise, r_max), expected_seconds)
        else:  # too many to keep for anybody else
            self._afford(expected_seconds)
        return await self.compute(index.thresholds, noise, r_max)

    async def plan(self, question: PlanQuestion) -> PlanAnswer:
        """The votes that a radius needs, or the radius that votes reach."""
        noise, r, p, n, d = question.noise, question.r, question.p, question.n, question.d
        if r is not None and p is not None and n is None and d is None:
            self._afford(costs.plan_seconds(noise, r))
            power = POWER if question.power is None else question.power
            return await self.compute(answering.answer_votes_needed, noise, r, p, question.failure, power)
        if n is not None and d is not None and r is None and p is None and question.power is None:
            await self._bring(noise, _reach(Votes(n, n, question.failure)), d)
            return await self.compute(answering.answer_reach, self._index, noise, n, d, question.failure)
        raise InvalidInput("r", "given with p (and power), to be told n; or n with d, to be told r", r)

    async def compare(self, question: CompareQuestion) -> CompareAnswer:
        """The discrete certificate beside the Gaussian."""
        noise, d, p = question.noise, question.d, question.p
        if p is not None:
            await self._bring(noise, probability(p, "p"), d)
        return await self.compute(answering.answer_comparison, self._index, noise, d, p, question.r_max)

    async def tables(self) -> TablesAnswer:
        """What the table has."""
        return await self.compute(answering.answer_tables, self._index, self._name)

    async def _settled(self, noise: Noise, p: Fraction, d: int) -> Located:
        """The radius of p once its rows are at hand; what they leave open (ties, p beyond them) takes a thread."""
        index = self._index
        located = index.find(noise, p, d)
        if located is None:
            if not index.at_hand(noise, p, d):
                self._afford(costs.walk_seconds(noise, p, d))
            located = await self.compute(lambda: index.locate(noise, index.radius(p, noise, d), d))
        return located

    async def _bring(self, noise: Noise, p: Fraction, d: int) -> None:
        """Have the rows at hand that p needs, or all of them if they cannot decide it."""
        index = self._index
        if not index.at_hand(noise, p, d):

            def have() -> bool:
                return index.at_hand(noise, p, d) or index.is_whole(noise)

            await self._once(noise, have, partial(index.extend, noise, p, d), costs.walk_seconds(noise, p, d))

    async def _once(
        self, noise: Noise, have: Callable[[], bool], extend: Callable[[], None], expected_seconds: float
    ) -> None:
        """Have rows of a noise computed unless they are at hand: once, whoever waits for them, within the limits.

        Waiting never returns at once: a walk that is done and did not bring enough is followed by a new one.
        """
        while not have():
            walk = self._walks.get(noise)
            if walk is not None and not walk.done():
                with suppress(Stopped):  # it had run out of its time, and this request has not
                    await self._in_time(asyncio.shield(walk))
                continue
            self._afford(expected_seconds)
            self._metrics.columns_computed.inc()
            # Others may come to wait for it, so that it has its own time and not that of the request that began it.
            walk = self._started(monotonic() + self._settings.request_timeout, extend)
            self._walks[noise] = walk
            walk.add_done_callback(partial(self._ended, noise))
            try:
                await self._in_time(asyncio.shield(walk))
            except Stopped:
                raise self._out_of_time() from None
            return  # if rows are missing still, they are too many to keep

    def _ended(self, noise: Noise, walk: asyncio.Future[None]) -> None:
        if self._walks.get(noise) is walk:
            del self._walks[noise]
        if not walk.cancelled():
            walk.exception()  # told to those who wait, if there are any left

    async def _bring_counts(self, noise: Noise, counts: NDArray[Any], n: int, failure: Exact, d: int) -> None:
        least, largest = int(counts.min()), int(counts.max())
        if not 0 <= least <= largest <= n:
            raise InvalidInput("count", f"an integer from 0 to n = {n}", least if least < 0 else largest)
        reach = _reach(Votes(largest, n, failure))
        self._afford(costs.counts_seconds(noise, len(np.unique(counts)), reach, d))
        await self._bring(noise, reach, d)

    async def _bring_all(
        self, noise: Noise, demand: Demand, values: int, p_b: Exact | list[Exact] | None, d: int
    ) -> None:
        """Have the rows at hand that so many probabilities need, with runners-up perhaps; refuse what is too costly."""
        reach = demand.reach
        if p_b is None:
            beyond = demand.beyond * costs.walk_seconds(noise, reach, d)
            self._afford(costs.numbers_seconds(demand.written) + beyond)
        else:
            others = p_b if isinstance(p_b, list) else [p_b]
            least = await self.compute(_least_rival, others)
            self._afford(values * costs.two_class_seconds(noise, least, d))
            reach = max(reach, 1 - least)
        await self._bring(noise, reach, d)

    async def compute(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do something that takes time in a thread, for as long as the request has."""
        try:
            return await self._in_time(self._started(deadline.until(), work, *arguments))
        except Stopped:
            raise self._out_of_time() from None

    def _started(self, until: float, work: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Work in a thread, which stops at a moment whatever it was expected to take."""
        if self._closing:
            raise self._out_of_time()

        def watched() -> T:
            with stopping_when(lambda: self._closing or monotonic() > until):
                return work(*arguments)

        return asyncio.get_running_loop().run_in_executor(self._pool, watched)

    async def _in_time(self, work: Awaitable[T]) -> T:
        """Wait for no longer than the request has."""
        try:
            async with asyncio.timeout(deadline.remaining()):
                return await work
        except TimeoutError:
            raise self._out_of_time() from None

    def _out_of_time(self) -> Problem:
        detail = f"no answer within {self._settings.request_timeout:g} seconds"
        return Problem(503, detail, "timeout", {"retry-after": "5"})

    def _afford(self, seconds: float) -> None:
        limit = self._settings.max_seconds
        if seconds > limit:
            raise Problem(
                422,
                f"this would take about {duration(seconds)}, and the service computes for at most {limit:g} seconds a"
                " request; precompute the column, or ask for less",
                "too-costly",
                expected_seconds=round(seconds, 1),
                limit_seconds=limit,
            )


def _reach(votes: Votes) -> Fraction:
    """About the largest p that votes prove."""
    return Fraction(likely_lower_bound(votes))


def _reach_of_numbers(values: list[Exact]) -> Demand:
    """The demand of numbers in JSON: those that are written out take their own time each."""
    if set(map(type, values)) == {float}:
        return Demand(_largest_below_one(np.array(values)))
    numbers = {probability(value, "p") for value in set(values)} - {Fraction(1)}
    return Demand(max(numbers, default=_ZERO), len(values), sum(number > _LAST_ROW for number in numbers))


def _largest_below_one(values: NDArray[Any]) -> Fraction:
    """The largest double from 0 to 1 that is less than 1; what lies elsewhere is refused later."""
    largest = float(values.max())
    if not 0 < largest < 1:
        below = values[(values > 0.0) & (values < 1.0)]
        largest = float(below.max()) if below.size else 0.0
    return Fraction(largest)


def _least_rival(others: list[Exact]) -> Fraction:
    """The least p_b above 0: a rival without any chance is no rival."""
    rivals = {probability(other, "p_b") for other in set(others)}
    return min((rival for rival in rivals if rival > 0), default=Fraction(1))
