"""The client of an ellzero service, and the jobs that long requests become."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast, overload

import anyio
import httpx2

from ellzero.client import _calls
from ellzero.client._calls import Call
from ellzero.client._connection import DOWN, RETRIES, TIMEOUT, Connection, Retries
from ellzero.client._numbers import Number
from ellzero.client._progress import ProgressCallback, report_progress
from ellzero.client._requests import BudgetLike, FamilyLike, Request, make_cancel_job, make_get, make_get_job, make_vote
from ellzero.client._responses import read_job, read_result, read_vote
from ellzero.core.conventions import DEFAULT_N, DEFAULT_N0, DEFAULT_PREDICT_N
from ellzero.core.schemas import (
    BudgetPlanAnswer,
    BudgetThresholdsAnswer,
    CertifiedAnswer,
    CertifiedListAnswer,
    CertifyAnswer,
    CompareAnswer,
    FamiliesAnswer,
    JobAnswer,
    ModelsAnswer,
    PlanAnswer,
    PredictAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    TablesAnswer,
    ThresholdsAnswer,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

# The seconds that the service waits for votes to end before it answers that they are still running.
_FIRST_SECONDS = 2
_POLL_SECONDS = 15
_WATCHED_POLL_SECONDS = 1
_PAUSE_SECONDS = 0.25  # between the requests of a client whose timeout is too short for such waits


class AsyncClient:
    """A client of an ellzero service: radii, thresholds and plans as exact as ``ellzero.certificates`` computes them.

    ``timeout`` is how many seconds connecting may take, and every wait for more of an answer. After a broken
    connection, 429, 502, 503 or 504 a request is tried again, at most ``retries`` times, with growing waits or when the
    service says. A client keeps its connections and may be shared: the synchronous one by threads, the asynchronous one
    by the tasks of an event loop (asyncio or trio). ``transport`` replaces the network, as in httpx2.

    Probabilities (``p``, ``p_b``) reach the service as exactly the numbers they are: a float as its binary value, text,
    Decimals and Fractions as written. A float ``alpha``, ``failure`` or ``power`` stands for its shortest decimal, so
    0.2 is 1/5. Errors are `ClientError`; ``ellzero.client.errors`` shows their tree.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection.of(base_url, api_key, timeout, retries)
        self._http = httpx2.AsyncClient(transport=transport, **self._connection.options())

    @overload
    async def radius(  # type: ignore[overload-overlap]  # text is a sequence too, and means one number
        self, p: Number, *, k: int, alpha: Number, d: int, p_b: Number | None = None
    ) -> RadiusAnswer: ...
    @overload
    async def radius(
        self, *, k: int, alpha: Number, d: int, count: int, n: int, failure: Number | None = None
    ) -> RadiusAnswer: ...
    @overload
    async def radius(
        self,
        p: Sequence[Number],
        *,
        k: int,
        alpha: Number,
        d: int,
        p_b: "Number | Sequence[Number] | NDArray[np.floating[Any]] | None" = None,
    ) -> RadiiAnswer: ...
    @overload
    async def radius(
        self,
        *,
        k: int,
        alpha: Number,
        d: int,
        count: Sequence[int],
        n: int,
        failure: Number | None = None,
    ) -> RadiiAnswer: ...
    @overload
    async def radius(
        self,
        p: "NDArray[np.floating[Any]]",
        *,
        k: int,
        alpha: Number,
        d: int,
        p_b: "Number | Sequence[Number] | NDArray[np.floating[Any]] | None" = None,
    ) -> RadiiArray: ...
    @overload
    async def radius(
        self,
        *,
        k: int,
        alpha: Number,
        d: int,
        count: "NDArray[np.integer[Any]]",
        n: int,
        failure: Number | None = None,
    ) -> RadiiArray: ...
    async def radius(
        self,
        p: Any = None,
        *,
        k: int,
        alpha: Number,
        d: int,
        p_b: Any = None,
        count: Any = None,
        n: int | None = None,
        failure: Number | None = None,
    ) -> RadiusAnswer | RadiiAnswer | RadiiArray:
        """The certified radius of a lower bound ``p`` of the top class's probability, or of ``count`` of ``n`` votes.

        ``p_b`` is an upper bound of the probability of every other class. A float counts as its exact binary value:
        0.9 is a little more than "0.9", and certifies more where a threshold is 9/10. ``failure`` is the probability
        that votes mislead, 0.001 by default. One number gives a `RadiusAnswer`, which says why; a list a `RadiiAnswer`;
        a numpy array of any shape a `RadiiArray` of that shape (floats narrower than doubles widen exactly). There may
        be any number of values: many are sent in several requests. Lists and arrays may have a ``p_b`` for
        each p.
        """
        return await self._run(_calls.radius(p, k, alpha, d, p_b, count, n, failure))

    async def thresholds(self, *, k: int, alpha: Number, r_max: int | None = None) -> ThresholdsAnswer:
        """The thresholds τ_0 … τ_r_max of a noise; without ``r_max`` to saturation."""
        return await self._run(_calls.thresholds(k, alpha, r_max))

    async def plan(
        self,
        *,
        k: int,
        alpha: Number,
        r: int | None = None,
        p: Number | None = None,
        n: int | None = None,
        d: int | None = None,
        failure: Number | None = None,
        power: Number | None = None,
    ) -> PlanAnswer:
        """With ``r`` and ``p``: how many votes that radius needs. With ``n`` and ``d``: how far n votes can reach."""
        return await self._run(_calls.plan(k, alpha, r, p, n, d, failure, power))

    @overload
    async def certified(  # type: ignore[overload-overlap]  # text is a sequence too, and means one number
        self,
        family: FamilyLike,
        p: Number,
        *,
        limits: BudgetLike | None = None,
        p_b: Number | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer: ...
    @overload
    async def certified(
        self,
        family: FamilyLike,
        *,
        limits: BudgetLike | None = None,
        count: int,
        n: int,
        failure: Number | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer: ...
    @overload
    async def certified(
        self,
        family: FamilyLike,
        p: Sequence[Number],
        *,
        limits: BudgetLike | None = None,
        p_b: Number | Sequence[Number] | None = None,
        top_k: int = 1,
    ) -> CertifiedListAnswer: ...
    @overload
    async def certified(
        self,
        family: FamilyLike,
        *,
        limits: BudgetLike | None = None,
        count: Sequence[int],
        n: int,
        failure: Number | None = None,
        top_k: int = 1,
    ) -> CertifiedListAnswer: ...
    async def certified(
        self,
        family: FamilyLike,
        p: Any = None,
        *,
        limits: BudgetLike | None = None,
        p_b: Any = None,
        count: Any = None,
        n: int | None = None,
        failure: Number | None = None,
        top_k: int = 1,
    ) -> CertifiedAnswer | CertifiedListAnswer:
        """The largest budgets of any family of noises that ``p``, or ``count`` of ``n`` votes, certify.

        ``family`` is a family of ``ellzero.certificates``, or a description such as ``{"family": "mask", "m": "0.9"}``.
        ``limits`` say how many changes of each kind are of interest: a number, or a mapping such as
        ``{"add": 5, "delete": 20}``; what is not named is 0. ``top_k`` keeps the class among so many most probable
        ones. The evidence is that of `radius`; a list gives a `CertifiedListAnswer`.
        """
        return await self._run(_calls.certified(family, p, limits, p_b, count, n, failure, top_k))

    async def budget_thresholds(
        self, family: FamilyLike, limits: BudgetLike | None = None, *, q: Number = "1/2"
    ) -> BudgetThresholdsAnswer:
        """The thresholds ρ⁻¹(q) of all budgets of any family of noises within limits, as in `certified`."""
        return await self._run(_calls.budget_thresholds(family, limits, q))

    async def budget_plan(
        self,
        family: FamilyLike,
        budget: BudgetLike,
        p: Number,
        *,
        failure: Number | None = None,
        power: Number | None = None,
    ) -> BudgetPlanAnswer:
        """How many votes a budget of any family of noises takes for an input of probability ``p``."""
        return await self._run(_calls.budget_plan(family, budget, p, failure, power))

    async def families(self) -> FamiliesAnswer:
        """Every family of noises: what it models, its parameters, and the kinds of change that its budgets count."""
        return await self._run(_calls.families())

    async def compare(
        self, *, alpha: Number, d: int, p: Number | None = None, r_max: int | None = None
    ) -> CompareAnswer:
        """The discrete noise on bits beside Gaussian noise: radii for ``p``, thresholds up to ``r_max``."""
        return await self._run(_calls.compare(alpha, d, p, r_max))

    async def tables(self) -> TablesAnswer:
        """The columns of the service's table."""
        return await self._run(_calls.tables())

    async def models(self) -> ModelsAnswer:
        """The models of the service: networks, which it takes votes of, and exact trees and forests."""
        return await self._run(_calls.models())

    async def predict(
        self,
        model: str,
        x: Any,
        *,
        n: int = DEFAULT_PREDICT_N,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        progress: ProgressCallback | bool = False,
    ) -> PredictAnswer:
        """The most probable class of an input, or of several stacked ones, under noise; None to abstain.

        ``x`` is an array, a torch tensor or nested lists: whole levels 0..K, or floats that are multiples of 1/K.
        ``alpha`` is that of the noise, as the model was trained by default. Waits, however long it takes.
        ``progress=True`` shows a bar on a terminal, elsewhere a line every ten seconds; a function is called with every
        state of the job. A tree or forest answers exactly, at once and without votes: ``n``, ``failure`` and ``seed``
        do not matter, and ``alpha`` must be its own.
        """
        wait = self._connection.limit_wait(_FIRST_SECONDS)
        request = make_vote("/v1/predict", model, x, wait, n=n, failure=failure, alpha=alpha, seed=seed)
        answer = read_vote(await self._send(request), PredictAnswer)
        if isinstance(answer, JobAnswer):
            return cast(PredictAnswer, await self.job(answer.id).result(progress))
        return answer

    @overload
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        certificate: bool = False,
        progress: ProgressCallback | bool = False,
        wait: Literal[True] = True,
    ) -> CertifyAnswer: ...
    @overload
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        certificate: bool = False,
        wait: Literal[False],
    ) -> "AsyncJob": ...
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = DEFAULT_N0,
        n: int = DEFAULT_N,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        certificate: bool = False,
        progress: ProgressCallback | bool = False,
        wait: bool = True,
    ) -> "CertifyAnswer | AsyncJob":
        """A class of an input, or of several stacked ones, and the radius within which it stays.

        As `predict`; n0 votes choose the class, n others certify it. ``wait=False`` returns an `AsyncJob` at once,
        whose result can be fetched later. Results of a tree or forest have their certificate in ``exact``.
        With ``certificate=True`` each result has a ``document``, which others verify.
        """
        request = make_vote(
            "/v1/certify",
            model,
            x,
            self._connection.limit_wait(_FIRST_SECONDS) if wait else 0,
            n0=n0,
            n=n,
            failure=failure,
            alpha=alpha,
            seed=seed,
            runner_up=runner_up,
            stopping=stopping,
            certificate=certificate or None,
        )
        answer = read_vote(await self._send(request), CertifyAnswer)
        if isinstance(answer, JobAnswer):
            job = AsyncJob(self, answer.id)
            return cast(CertifyAnswer, await job.result(progress)) if wait else job
        return answer if wait else AsyncJob(self, None, answer)

    def job(self, id: str) -> "AsyncJob":  # noqa: A002
        """The job with this id, which `certify` with ``wait=False`` returned."""
        return AsyncJob(self, id)

    async def health(self) -> bool:
        """Whether the service is running. One attempt, no retries."""
        return await self._probe("/healthz")

    async def ready(self) -> bool:
        """Whether the service is running and has its table in memory. One attempt, no retries."""
        return await self._probe("/readyz")

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, call: Call[T]) -> T:
        return call.read([await self._send(request) for request in call.requests])

    async def _probe(self, path: str) -> bool:
        try:
            await self._send(make_get(path), retries=0)
        except DOWN:
            return False
        return True

    async def _send(self, request: Request, retries: int | None = None) -> httpx2.Response:
        attempts = Retries(self._connection.retries if retries is None else retries)
        while True:
            outcome: httpx2.Response | httpx2.RequestError
            try:
                outcome = await self._http.request(**request.options())
            except httpx2.RequestError as error:
                outcome = error
            wait = attempts.next_wait(outcome)
            if wait is None:
                return self._connection.check_outcome(outcome, request)
            await anyio.sleep(wait)


class AsyncJob:
    """A job at the service. ``id`` finds it again, also from elsewhere; None if the result was there at once."""

    def __init__(self, client: AsyncClient, id: str | None, result: CertifyAnswer | None = None) -> None:  # noqa: A002
        self._client = client
        self._result = result
        self.id = id

    async def state(self, wait: int = 0) -> JobAnswer | None:
        """The job as it is now, or when it has ended if that is within ``wait`` seconds; None without an ``id``."""
        return None if self.id is None else read_job(await self._client._send(make_get_job(self.id, wait)))

    async def result(self, progress: ProgressCallback | bool = False) -> CertifyAnswer | PredictAnswer:
        """Wait for the result; `JobEnded` if there will be none."""
        result: CertifyAnswer | PredictAnswer | None = self._result
        with report_progress(progress) as report:
            while result is None:
                wait = self._client._connection.limit_wait(_WATCHED_POLL_SECONDS if report else _POLL_SECONDS)
                if not wait:
                    await anyio.sleep(_PAUSE_SECONDS)
                job = await self.state(wait)
                if job is not None:
                    if report:
                        report(job)
                    result = read_result(job)
        return result

    async def cancel(self) -> JobAnswer | None:
        """Cancel the job; one that has ended stays as it is. None without an ``id``."""
        return None if self.id is None else read_job(await self._client._send(make_cancel_job(self.id)))
