"""`AsyncClient`: `Client` for programs that wait for many things at once."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

import anyio
import httpx2

from ellzero.client import _questions
from ellzero.client._connection import DOWN, RETRIES, TIMEOUT, Connection
from ellzero.client._numbers import Number
from ellzero.client._questions import Question
from ellzero.client._requests import Request, get
from ellzero.client._retries import Retries
from ellzero.client.answers import (
    CompareAnswer,
    PlanAnswer,
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

    async def _ask(self, question: Question[T]) -> T:
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
