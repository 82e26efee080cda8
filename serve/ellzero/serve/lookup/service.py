"""Questions to answers, without blocking: what is at hand is answered at once, the rest in threads and within a limit.

Concurrent questions that need the same missing column wait for one computation of it.
"""

import logging
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ellzero.certificates import Noise, Votes
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_probability
from ellzero.core.schemas import CompareAnswer, PlanAnswer, RadiiAnswer, RadiiArray, RadiusAnswer, TablesAnswer
from ellzero.core.text import format_duration
from ellzero.serve.lookup import cost_estimates, demand
from ellzero.serve.lookup.demand import Demand
from ellzero.serve.lookup.request_models import (
    CompareRequest,
    Exact,
    PlanRequest,
    RadiiArrayRequest,
    RadiiRequest,
    RadiusRequest,
    ThresholdsRequest,
)
from ellzero.serve.platform.field_types import MOST_VALUES
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings
from ellzero.tables import ColumnResult, ThresholdIndex
from ellzero.tables.bundled import LOCATION
from ellzero.tables.lookup import queries
from ellzero.tables.lookup.column_cache import MOST_KEPT_ROWS
from ellzero.tables.lookup.results import RadiusResult

T = TypeVar("T")

_LOG = logging.getLogger(__name__)


class LookupService:
    """Answers from a table that may be exchanged while it runs."""

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._index = ThresholdIndex({})
        self.work = ThreadPool(settings.compute_threads, settings.request_timeout)
        self._name = settings.tables or "reference"

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
        """End all work."""
        self.work.close()

    async def compute(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do something that takes time in a thread, for as long as the request has."""
        return await self.work.do(work, *arguments)

    async def radius(self, question: RadiusRequest) -> RadiusAnswer:
        """The radius of a probability, with a runner-up perhaps, or of votes; and why."""
        noise, d, votes, top = question.noise, question.d, question.votes, question.p
        if votes is not None:
            await self._bring(noise, demand.of_votes(votes), d)
            return await self.compute(queries.answer_votes, self._index, noise, votes, d)
        if question.p_b is None:
            return await self.radius_of_p(noise, d, str(top))
        p, p_b = read_probability(top, "p"), read_probability(question.p_b, "p_b")
        self._afford(cost_estimates.two_class_seconds(noise, min(p_b, 1 - p), d))
        await self._bring(noise, max(p, 1 - p_b), d)
        return await self.compute(queries.answer_two_classes, self._index, noise, top, question.p_b, d)

    async def radius_of_p(self, noise: Noise, d: int, written: str) -> RadiusAnswer:
        """The radius of a probability alone; and why."""
        p = read_probability(written, "p")
        located = self._index.find(noise, p, d)
        if located is None:
            await self._bring(noise, p, d)
            located = await self._settled(noise, p, d)
        return queries.explain_probability(noise, p, d, located, written)

    async def radii(self, question: RadiiRequest) -> RadiiAnswer:
        """The radii of many probabilities, or of many counts."""
        noise, d, counts, values = question.noise, question.d, question.count, question.p or []
        if counts is not None and question.n is not None:
            failure = DEFAULT_FAILURE if question.failure is None else question.failure
            await self._bring_counts(noise, np.array(counts), question.n, failure, d)
            return await self.compute(queries.answer_counts, self._index, noise, counts, question.n, failure, d)
        await self._bring_all(noise, await self.compute(demand.of_numbers, values), len(values), question.p_b, d)
        return await self.compute(queries.answer_list, self._index, noise, values, d, question.p_b)

    async def array(self, question: RadiiArrayRequest, values: NDArray[Any]) -> RadiiArray:
        """The radii of an array of probabilities, or of counts."""
        noise, d = question.noise, question.d
        failure = DEFAULT_FAILURE if question.failure is None else question.failure
        if len(values) > MOST_VALUES:
            raise InvalidInput("body", f"an array of at most {MOST_VALUES:,} values", f"{len(values):,} values")
        if question.n is not None:
            await self._bring_counts(noise, values, question.n, failure, d)
        else:
            await self._bring_all(noise, demand.of_doubles(values), len(values), question.p_b, d)
        arguments = (values, d, question.n, failure, question.p_b)
        return await self.compute(queries.answer_array, self._index, noise, *arguments)

    async def thresholds(self, question: ThresholdsRequest) -> ColumnResult:
        """A column, up to a radius or up to saturation."""
        noise, r_max, index = question.noise, question.r_max, self._index
        self._afford(cost_estimates.sending_seconds(noise, r_max))
        have, expected_seconds = partial(index.is_whole, noise, r_max), cost_estimates.column_seconds(noise, r_max)
        if have() or cost_estimates.rows(noise, r_max) <= MOST_KEPT_ROWS:
            await self._once(noise, have, partial(index.extend_to, noise, r_max), expected_seconds)
        else:  # too many to keep for anybody else
            self._afford(expected_seconds)
        return await self.compute(index.thresholds, noise, r_max)

    async def plan(self, question: PlanRequest) -> PlanAnswer:
        """The votes that a radius needs, or the radius that votes reach."""
        noise, r, p, n, d = question.noise, question.r, question.p, question.n, question.d
        if r is not None and p is not None and n is None and d is None:
            self._afford(cost_estimates.plan_seconds(noise, r))
            power = DEFAULT_POWER if question.power is None else question.power
            return await self.compute(queries.answer_votes_needed, noise, r, p, question.failure, power)
        if n is not None and d is not None and r is None and p is None and question.power is None:
            await self._bring(noise, demand.of_votes(Votes(n, n, question.failure)), d)
            return await self.compute(queries.answer_reach, self._index, noise, n, d, question.failure)
        raise InvalidInput("r", "given with p (and power), to be told n; or n with d, to be told r", r)

    async def compare(self, question: CompareRequest) -> CompareAnswer:
        """The discrete certificate beside the Gaussian."""
        noise, d, p = question.noise, question.d, question.p
        if p is not None:
            await self._bring(noise, read_probability(p, "p"), d)
        return await self.compute(queries.answer_comparison, self._index, noise, d, p, question.r_max)

    async def tables(self) -> TablesAnswer:
        """What the table has."""
        return await self.compute(queries.answer_tables, self._index, self._name)

    async def _settled(self, noise: Noise, p: Fraction, d: int) -> RadiusResult:
        """The radius of p once its rows are at hand; what they leave open (ties, p beyond them) takes a thread."""
        index = self._index
        located = index.find(noise, p, d)
        if located is None:
            if not index.covers(noise, p, d):
                self._afford(cost_estimates.walk_seconds(noise, p, d))
            located = await self.compute(lambda: index.radius(p, noise, d))
        return located

    async def _bring(self, noise: Noise, p: Fraction, d: int) -> None:
        """Have the rows at hand that p needs, or all of them if they cannot decide it."""
        index = self._index
        if not index.covers(noise, p, d):

            def have() -> bool:
                return index.covers(noise, p, d) or index.is_whole(noise)

            await self._once(noise, have, partial(index.extend, noise, p, d), cost_estimates.walk_seconds(noise, p, d))

    async def _once(
        self, noise: Noise, have: Callable[[], bool], extend: Callable[[], None], expected_seconds: float
    ) -> None:
        """Have rows of a noise computed unless they are at hand: once, whoever waits for them, within the limits."""

        def begin() -> None:
            self._afford(expected_seconds)
            self._metrics.columns_computed.inc()

        await self.work.once(noise, have, begin, extend)

    async def _bring_counts(self, noise: Noise, counts: NDArray[Any], n: int, failure: Exact, d: int) -> None:
        least, largest = int(counts.min()), int(counts.max())
        if not 0 <= least <= largest <= n:
            raise InvalidInput("count", f"an integer from 0 to n = {n}", least if least < 0 else largest)
        reach = demand.of_votes(Votes(largest, n, failure))
        self._afford(cost_estimates.counts_seconds(noise, len(np.unique(counts)), reach, d))
        await self._bring(noise, reach, d)

    async def _bring_all(
        self, noise: Noise, wanted: Demand, values: int, p_b: Exact | list[Exact] | None, d: int
    ) -> None:
        """Have the rows at hand that so many probabilities need, with runners-up perhaps; refuse what is too costly."""
        reach = wanted.reach
        if p_b is None:
            beyond = wanted.beyond * cost_estimates.walk_seconds(noise, reach, d)
            self._afford(cost_estimates.numbers_seconds(wanted.written) + beyond)
        else:
            others = p_b if isinstance(p_b, list) else [p_b]
            least = await self.compute(demand.least_rival, others)
            self._afford(values * cost_estimates.two_class_seconds(noise, least, d))
            reach = max(reach, 1 - least)
        await self._bring(noise, reach, d)

    def _afford(self, seconds: float) -> None:
        limit = self._settings.max_seconds
        if seconds > limit:
            raise HttpProblem(
                422,
                f"this would take about {format_duration(seconds)}, and the service computes for at most {limit:g}"
                " seconds a request; precompute the column, or ask for less",
                "too-costly",
                expected_seconds=round(seconds, 1),
                limit_seconds=limit,
            )
