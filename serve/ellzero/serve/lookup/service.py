"""Answers lookups without blocking the event loop: cached rows at once, everything else in threads, within limits.

Concurrent requests that need the same missing column wait for one computation of it.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Votes
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_probability
from ellzero.core.schemas import (
    CompareAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    TablesAnswer,
    combine_sources,
)
from ellzero.core.text import format_duration
from ellzero.serve.lookup import cost_estimates
from ellzero.serve.lookup.cost_estimates import Demand
from ellzero.serve.lookup.open_table import open_table
from ellzero.serve.lookup.request_models import (
    CompareRequest,
    PlanRequest,
    RadiiArrayRequest,
    RadiiRequest,
    RadiusRequest,
    ThresholdsRequest,
)
from ellzero.serve.lookup.written_numbers import Enclosure, enclose, find_radii
from ellzero.serve.platform.field_types import MAX_VALUES, Exact
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings
from ellzero.tables import ColumnResult, ThresholdIndex
from ellzero.tables.lookup import queries
from ellzero.tables.lookup.column_cache import MOST_CACHED_ROWS
from ellzero.tables.lookup.results import RadiusResult

_LOG = logging.getLogger(__name__)


class LookupService:
    """Answers lookups from a table, which may be replaced while the service runs."""

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._index = ThresholdIndex({})
        self.pool = ThreadPool(settings.compute_threads, settings.request_timeout)
        self._name = settings.tables or "reference"

    def load(self) -> None:
        """Load or reload the table. Requests use the old one until the new one is complete."""
        # Arrow's other memory pools would keep what reading took.
        pa.set_memory_pool(pa.system_memory_pool())
        index = ThresholdIndex.open(open_table(self._settings), self._settings.write_back)
        pa.default_memory_pool().release_unused()
        self._index = index
        self._metrics.columns_loaded.set(len(index.noises))
        _LOG.info("table loaded", extra={"fields": {"table": self._name, "columns": len(index.noises)}})

    def close(self) -> None:
        """Stop all work."""
        self.pool.close()

    @property
    def index(self) -> ThresholdIndex:
        """The table as it is now."""
        return self._index

    @property
    def max_seconds(self) -> float:
        """How long the work for a request may be expected to take."""
        return self._settings.max_seconds

    async def radius(self, request: RadiusRequest) -> RadiusAnswer:
        """Return the radius of a probability, optionally with a runner-up, or of votes; with its thresholds."""
        noise, d, votes, top = request.noise, request.d, request.votes, request.p
        if votes is not None:
            await self._ensure_rows(noise, cost_estimates.guess_p(votes), d)
            return await self.pool.run(queries.answer_votes, self._index, noise, votes, d)
        if request.p_b is None:
            return await self.radius_of_p(noise, d, str(top))
        p, p_b = read_probability(top, "p"), read_probability(request.p_b, "p_b")
        self.check_cost(cost_estimates.two_class_seconds(noise, min(p_b, 1 - p), d))
        await self._ensure_rows(noise, max(p, 1 - p_b), d)
        return await self.pool.run(queries.answer_two_classes, self._index, noise, top, request.p_b, d)

    async def radius_of_p(self, noise: Discrete, d: int, written: str) -> RadiusAnswer:
        """Return the radius of a probability alone, with the thresholds around it."""
        p = read_probability(written, "p")
        located = self._index.find(noise, p, d)
        if located is None:
            await self._ensure_rows(noise, p, d)
            located = await self._find_radius(noise, p, d)
        return queries.explain_probability(noise, p, d, located, written)

    async def radii(self, request: RadiiRequest) -> RadiiAnswer:
        """Return the radii of many probabilities or counts."""
        noise, d, counts, values = request.noise, request.d, request.count, request.p or []
        if counts is not None and request.n is not None:
            failure = DEFAULT_FAILURE if request.failure is None else request.failure
            await self._ensure_rows_for_counts(noise, np.array(counts), request.n, failure, d)
            return await self.pool.run(queries.answer_counts, self._index, noise, counts, request.n, failure, d)
        numbers = await self.pool.run(enclose, values) if request.p_b is None else None
        demand = await self.pool.run(cost_estimates.measure_demand, values, numbers)
        await self._ensure_rows_for_batch(noise, demand, len(values), request.p_b, d)
        if numbers is None:
            return await self.pool.run(queries.answer_list, self._index, noise, values, d, request.p_b)
        return await self._radii_of_numbers(noise, values, numbers, d)

    async def radii_array(self, request: RadiiArrayRequest, values: NDArray[Any]) -> RadiiArray:
        """Return the radii of an array of probabilities or counts."""
        noise, d = request.noise, request.d
        failure = DEFAULT_FAILURE if request.failure is None else request.failure
        if len(values) > MAX_VALUES:
            raise InvalidInput("body", f"an array of at most {MAX_VALUES:,} values", f"{len(values):,} values")
        if request.n is not None:
            await self._ensure_rows_for_counts(noise, values, request.n, failure, d)
        else:
            await self._ensure_rows_for_batch(
                noise, cost_estimates.measure_array_demand(values), len(values), request.p_b, d
            )
        arguments = (values, d, request.n, failure, request.p_b)
        return await self.pool.run(queries.answer_array, self._index, noise, *arguments)

    async def thresholds(self, request: ThresholdsRequest) -> ColumnResult:
        """Return a column up to a radius, or up to saturation."""
        noise, r_max, index = request.noise, request.r_max, self._index
        self.check_cost(cost_estimates.sending_seconds(noise, r_max))
        have, expected_seconds = partial(index.is_whole, noise, r_max), cost_estimates.column_seconds(noise, r_max)
        if have() or cost_estimates.estimate_rows(noise, r_max) <= MOST_CACHED_ROWS:
            await self._compute_once(noise, have, partial(index.extend_to, noise, r_max), expected_seconds)
        else:  # too many rows to cache
            self.check_cost(expected_seconds)
        return await self.pool.run(index.thresholds, noise, r_max)

    async def plan(self, request: PlanRequest) -> PlanAnswer:
        """Return the votes that a radius needs, or the radius that votes reach."""
        noise, r, p, n, d = request.noise, request.r, request.p, request.n, request.d
        if r is not None and p is not None and n is None and d is None:
            self.check_cost(cost_estimates.plan_seconds(noise, r))
            power = DEFAULT_POWER if request.power is None else request.power
            return await self.pool.run(queries.answer_votes_needed, noise, r, p, request.failure, power)
        if n is not None and d is not None and r is None and p is None and request.power is None:
            await self._ensure_rows(noise, cost_estimates.guess_p(Votes(n, n, request.failure)), d)
            return await self.pool.run(queries.answer_reach, self._index, noise, n, d, request.failure)
        raise InvalidInput("r", "given with p (and optionally power), to get n; or left out, with n and d, to get r", r)

    async def compare(self, request: CompareRequest) -> CompareAnswer:
        """Return the discrete certificate and the Gaussian one."""
        noise, d, p = request.noise, request.d, request.p
        if p is not None:
            await self._ensure_rows(noise, read_probability(p, "p"), d)
        return await self.pool.run(queries.answer_comparison, self._index, noise, d, p, request.r_max)

    async def tables(self) -> TablesAnswer:
        """Return the columns of the table."""
        return await self.pool.run(queries.answer_tables, self._index, self._name)

    async def _find_radius(self, noise: Discrete, p: Fraction, d: int) -> RadiusResult:
        """Return the radius of p once its rows are cached; ties, and p beyond all rows, are computed in a thread."""
        index = self._index
        located = index.find(noise, p, d)
        if located is None:
            if not index.covers(noise, p, d):
                self.check_cost(cost_estimates.radius_seconds(noise, p, d))
            located = await self.pool.run(lambda: index.radius(p, noise, d))
        return located

    async def _radii_of_numbers(self, noise: Discrete, values: list[Exact], numbers: Enclosure, d: int) -> RadiiAnswer:
        """Return the radii of enclosed numbers; those that doubles do not decide are looked up exactly."""
        radii, undecided, source = await self.pool.run(find_radii, self._index, noise, d, numbers)
        answer = RadiiAnswer(radii=radii, source=source, k=noise.k, alpha=str(noise.alpha), d=d)
        if not undecided:
            return answer
        close = [values[place] for place in undecided]
        self.check_cost(cost_estimates.numbers_seconds(len(set(close))))
        exact = await self.pool.run(queries.answer_list, self._index, noise, close, d)
        for place, radius in zip(undecided, exact.radii, strict=True):
            answer.radii[place] = radius
        return replace(answer, source=combine_sources((source, exact.source)))

    async def _ensure_rows(self, noise: Discrete, p: Fraction, d: int) -> None:
        """Compute the rows that p needs unless they are cached; all rows if they cannot decide it."""
        index = self._index
        if not index.covers(noise, p, d):

            def have() -> bool:
                return index.covers(noise, p, d) or index.is_whole(noise)

            await self._compute_once(
                noise, have, partial(index.extend, noise, p, d), cost_estimates.radius_seconds(noise, p, d)
            )

    async def _compute_once(
        self, noise: Discrete, have: Callable[[], bool], extend: Callable[[], None], expected_seconds: float
    ) -> None:
        """Compute rows of a noise unless they are cached: once for all requests that wait, and within the limits."""

        def begin() -> None:
            self.check_cost(expected_seconds)
            self._metrics.columns_computed.inc()

        await self.pool.run_once(noise, have, begin, extend)

    async def _ensure_rows_for_counts(
        self, noise: Discrete, counts: NDArray[Any], n: int, failure: Exact, d: int
    ) -> None:
        least, largest = int(counts.min()), int(counts.max())
        if not 0 <= least <= largest <= n:
            raise InvalidInput("count", f"an integer from 0 to n = {n}", least if least < 0 else largest)
        reach = cost_estimates.guess_p(Votes(largest, n, failure))
        self.check_cost(cost_estimates.counts_seconds(noise, len(np.unique(counts)), reach, d))
        await self._ensure_rows(noise, reach, d)

    async def _ensure_rows_for_batch(
        self, noise: Discrete, demand: Demand, values: int, p_b: Exact | list[Exact] | None, d: int
    ) -> None:
        """Compute the rows that a batch needs; refuse what is too costly."""
        reach = demand.reach
        if p_b is None:
            beyond = demand.beyond * cost_estimates.radius_seconds(noise, reach, d)
            self.check_cost(cost_estimates.numbers_seconds(demand.written) + beyond)
        else:
            others = p_b if isinstance(p_b, list) else [p_b]
            least = await self.pool.run(cost_estimates.find_smallest_p_b, others)
            self.check_cost(values * cost_estimates.two_class_seconds(noise, least, d))
            reach = max(reach, 1 - least)
        await self._ensure_rows(noise, reach, d)

    def check_cost(self, seconds: float) -> None:
        """Refuse what would take too long; infinity stands for work that could not even be stopped."""
        limit = self.max_seconds
        if seconds > limit:
            expected = f"about {format_duration(seconds)}" if isfinite(seconds) else "too long for an estimate"
            raise HttpProblem(
                422,
                f"this would take {expected}, and the service computes for at most {limit:g}"
                " seconds per request; precompute the column, or request less",
                "too-costly",
                expected_seconds=round(seconds, 1) if isfinite(seconds) else None,
                limit_seconds=limit,
            )
