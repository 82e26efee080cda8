"""The results of runs over HTTP: read from their folders in threads, and never written."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import prod
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import (
    CertifiedInput,
    CertifiedInputsAnswer,
    ReportAnswer,
    ResultsAnswer,
)
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.results.certified_run import CertifiedRun
from ellzero.serve.results.registry import ResultsRegistry
from ellzero.serve.results.request_models import CertifiedInputsRequest, InputRequest, ReportRequest
from ellzero.serve.results.run_data import RunData, RunDataCache, RunInput
from ellzero.serve.settings import ServeSettings
from ellzero.smoothing.errors import BadData

_PATIENCE = 3.0  # seconds that a list of inputs waits for how they can be shown
_LOADING = "their data set is still being loaded; read again in a while"
_MOST_NUMBERS = 2**20  # of an input that is shown


class ResultsService:
    """The results folders of a service."""

    def __init__(self, settings: ServeSettings, pool: ThreadPool) -> None:
        self._registry, self._data, self._pool = ResultsRegistry(settings.results), RunDataCache(), pool
        # One at a time, since two would need the memory of both; and in no thread that other requests need.
        self._loader = ThreadPoolExecutor(1, "ellzero-data")

    def load(self) -> None:
        """Check that the folder of results exists. Results are read when they are asked for."""
        self._registry.check()

    def close(self) -> None:
        """Drop what waits to be loaded."""
        self._loader.shutdown(wait=False, cancel_futures=True)

    async def results(self) -> ResultsAnswer:
        """Return the runs, and the folders that cannot be read with the reason."""
        return await self._pool.run(self._registry.list_results)

    async def report(self, request: ReportRequest) -> ReportAnswer:
        """Return the metrics of a run."""
        return await self._pool.run(lambda: self._registry.find(request.name).report)

    async def inputs(self, request: CertifiedInputsRequest) -> CertifiedInputsAnswer:
        """Return some of a run's inputs, in the order that the request asks for."""
        run, rows = await self._pool.run(self._list_rows, request)
        found: RunData | str = _LOADING
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):  # it goes on loading, and the next request has it
                found = await self._find_data(run)
        shown = _describe_data(found)
        return CertifiedInputsAnswer(name=run.name, rows=rows, total=run.info.inputs, offset=request.offset, **shown)

    async def input(self, request: InputRequest) -> RunInput:
        """Return one of a run's inputs itself."""
        run = await self._pool.run(self._registry.find, request.name)
        return await self._pool.run(_read_input, await self._find_data(run), request)

    async def _find_data(self, run: CertifiedRun) -> RunData | str:
        return await self._pool.run_aside(self._data.find, run, threads=self._loader)

    def _list_rows(self, request: CertifiedInputsRequest) -> tuple[CertifiedRun, list[CertifiedInput]]:
        run = self._registry.find(request.name)
        order, descending = request.sort.removeprefix("-"), request.sort.startswith("-")
        return run, run.inputs(order, descending, request.offset, request.limit)


def _describe_data(found: RunData | str) -> dict[str, Any]:
    """Return how the inputs of a data set can be shown, or why they cannot."""
    if isinstance(found, str):
        return {"shape": None, "levels": None, "class_names": [], "unavailable": found}
    data = found.data
    return {
        "shape": list(data.shape),
        "levels": data.levels,
        "class_names": list(data.class_names),
        "unavailable": _explain_size(data.shape),
    }


def _read_input(found: RunData | str, request: InputRequest) -> RunInput:
    fault = found if isinstance(found, str) else _explain_size(found.data.shape)
    if isinstance(found, str) or fault is not None:
        raise HttpProblem(404, f"the inputs of {request.name} cannot be shown: {fault}", field="name")
    inputs = len(found.data.labels)
    if request.index >= inputs:
        raise InvalidInput("index", f"an integer from 0 to {inputs - 1}", request.index)
    try:
        return found.read(request.index)
    except BadData as error:
        raise HttpProblem(404, f"the input cannot be shown: {error.reason}", field="index") from None


def _explain_size(shape: tuple[int, ...]) -> str | None:
    """Return why inputs of this shape are not shown, None if they are."""
    if (numbers := prod(shape)) <= _MOST_NUMBERS:
        return None
    return f"an input has {numbers:,} numbers, and at most {_MOST_NUMBERS:,} are shown"
