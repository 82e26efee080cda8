"""`AsyncClient`: `Client` for programs that wait for many things at once."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, overload

import anyio
import httpx2

from ellzero.client import _questions, _votes
from ellzero.client._connection import DOWN, RETRIES, TIMEOUT, Connection
from ellzero.client._numbers import Number
from ellzero.client._progress import show_progress
from ellzero.client._questions import Call
from ellzero.client._requests import Request, get
from ellzero.client._retries import Retries
from ellzero.client._votes import Progress
from ellzero.core.schemas import (
    CertifyAnswer,
    CompareAnswer,
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


class AsyncClient:
    """`Client` for asyncio and trio: the same questions, awaited. Many tasks of one event loop may share a client."""

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
        """As `Client.radius`."""
        return await self._ask(_questions.radius(p, k, alpha, d, p_b, count, n, failure))

    async def thresholds(self, *, k: int, alpha: Number, r_max: int | None = None) -> ThresholdsAnswer:
        """As `Client.thresholds`."""
        return await self._ask(_questions.thresholds(k, alpha, r_max))

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
        """As `Client.plan`."""
        return await self._ask(_questions.plan(k, alpha, r, p, n, d, failure, power))

    async def compare(
        self, *, alpha: Number, d: int, p: Number | None = None, r_max: int | None = None
    ) -> CompareAnswer:
        """As `Client.compare`."""
        return await self._ask(_questions.compare(alpha, d, p, r_max))

    async def tables(self) -> TablesAnswer:
        """As `Client.tables`."""
        return await self._ask(_questions.tables())

    async def models(self) -> ModelsAnswer:
        """As `Client.models`."""
        return await self._ask(_questions.models())

    async def predict(
        self,
        model: str,
        x: Any,
        *,
        n: int = 1_000,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        progress: Progress | bool = False,
    ) -> PredictAnswer:
        """As `Client.predict`."""
        wait = self._connection.patience(_votes.FIRST_SECONDS)
        request = _votes.vote("/v1/predict", model, x, wait, n=n, failure=failure, alpha=alpha, seed=seed)
        found = _votes.read_vote(await self._send(request, self._connection.retries), PredictAnswer)
        if isinstance(found, JobAnswer):
            found = await self.job(found.id).result(progress)
        answer: PredictAnswer = found
        return answer

    @overload
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = 100,
        n: int = 100_000,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        progress: Progress | bool = False,
        wait: Literal[True] = True,
    ) -> CertifyAnswer: ...
    @overload
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = 100,
        n: int = 100_000,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        wait: Literal[False],
    ) -> "AsyncJob": ...
    async def certify(
        self,
        model: str,
        x: Any,
        *,
        n0: int = 100,
        n: int = 100_000,
        failure: Number | None = None,
        alpha: Number | None = None,
        seed: int | None = None,
        runner_up: bool = False,
        stopping: str = "settled",
        progress: Progress | bool = False,
        wait: bool = True,
    ) -> "CertifyAnswer | AsyncJob":
        """As `Client.certify`; with ``wait=False`` an `AsyncJob`."""
        request = _votes.vote(
            "/v1/certify",
            model,
            x,
            self._connection.patience(_votes.FIRST_SECONDS) if wait else 0,
            n0=n0,
            n=n,
            failure=failure,
            alpha=alpha,
            seed=seed,
            runner_up=runner_up,
            stopping=stopping,
        )
        found = _votes.read_vote(await self._send(request, self._connection.retries), CertifyAnswer)
        if not wait:
            return AsyncJob(self, found)
        if isinstance(found, JobAnswer):
            found = await self.job(found.id).result(progress)
        answer: CertifyAnswer = found
        return answer

    def job(self, id: str) -> "AsyncJob":  # noqa: A002
        """As `Client.job`."""
        return AsyncJob(self, id)

    async def health(self) -> bool:
        """As `Client.health`."""
        return await self._probe("/healthz")

    async def ready(self) -> bool:
        """As `Client.ready`."""
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

    async def _ask(self, question: Call[T]) -> T:
        return question.read([await self._send(request, self._connection.retries) for request in question.requests])

    async def _probe(self, path: str) -> bool:
        try:
            await self._send(get(path), retries=0)
        except DOWN:
            return False
        return True

    async def _send(self, request: Request, retries: int) -> httpx2.Response:
        attempts = Retries(retries)
        while True:
            outcome: httpx2.Response | httpx2.RequestError
            try:
                outcome = await self._http.request(**request.options())
            except httpx2.RequestError as error:
                outcome = error
            wait = attempts.wait(outcome)
            if wait is None:
                return self._connection.settled(outcome, request)
            await anyio.sleep(wait)


class AsyncJob:
    """As `Job`, for `AsyncClient`."""

    def __init__(self, client: AsyncClient, known: str | JobAnswer | CertifyAnswer) -> None:
        self._client = client
        self._result = known if isinstance(known, CertifyAnswer) else None
        self.id = known.id if isinstance(known, JobAnswer) else known if isinstance(known, str) else None

    async def state(self, wait: int = 0) -> JobAnswer | None:
        """As `Job.state`."""
        if self.id is None:
            return None
        return _votes.read_job(await self._client._send(_votes.find(self.id, wait), self._client._connection.retries))

    async def result(self, progress: Progress | bool = False) -> CertifyAnswer | PredictAnswer:
        """As `Job.result`."""
        told = show_progress if progress is True else progress or None
        found: CertifyAnswer | PredictAnswer | None = self._result
        while found is None:
            wait = self._client._connection.patience(_votes.WATCHED_POLL_SECONDS if told else _votes.POLL_SECONDS)
            if not wait:
                await anyio.sleep(_votes.PAUSE_SECONDS)
            job = await self.state(wait)
            if job is not None:
                if told:
                    told(job)
                found = _votes.result_of(job)
        return found

    async def cancel(self) -> JobAnswer | None:
        """As `Job.cancel`."""
        if self.id is None:
            return None
        return _votes.read_job(await self._client._send(_votes.cancel(self.id), self._client._connection.retries))
