"""The routes of results: the runs of a folder, their reports, and the inputs that they certified."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from ellzero.core.npy import write_npy
from ellzero.core.schemas import CertifiedInputsAnswer, InputLevelsAnswer, ReportAnswer, ResultsAnswer
from ellzero.serve.platform.field_types import NoParameters
from ellzero.serve.platform.openapi import BINARY, describe_problems
from ellzero.serve.platform.requests import choose_media_type
from ellzero.serve.platform.responses import JSON, NPY, JsonResponse
from ellzero.serve.results.request_models import CertifiedInputsRequest, InputRequest, ReportRequest
from ellzero.serve.results.service import ResultsService


def make_results_router(service: ResultsService) -> APIRouter:
    """Return the routes of results, which only read."""
    router = APIRouter(tags=["results"])

    @router.get("/v1/results", response_model=ResultsAnswer, responses=describe_problems(400), summary="Runs")
    async def results(query: Annotated[NoParameters, Query()]) -> Response:
        """The runs over data sets in the service's folder of results, as they are now: one in progress grows."""
        return JsonResponse(await service.results())

    @router.get(
        "/v1/results/report",
        response_model=ReportAnswer,
        responses=describe_problems(400, 404),
        summary="Metrics of a run",
    )
    async def report(query: Annotated[ReportRequest, Query()]) -> Response:
        """The mean certified radius μ(R) and the certified accuracy ACC@r of a run, with intervals of 95 %."""
        return JsonResponse(await service.report(query))

    @router.get(
        "/v1/results/inputs",
        response_model=CertifiedInputsAnswer,
        responses=describe_problems(400, 404),
        summary="Inputs of a run",
    )
    async def inputs(query: Annotated[CertifiedInputsRequest, Query()]) -> Response:
        """The results of some inputs: class, radius and votes of each."""
        return JsonResponse(await service.inputs(query))

    @router.get(
        "/v1/results/input",
        response_model=InputLevelsAnswer,
        responses={200: {"content": {NPY: BINARY}}, **describe_problems(400, 404, 406)},
        summary="An input of a run",
    )
    async def input_levels(
        query: Annotated[InputRequest, Query()],
        accept: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> Response:
        """An input that a run certified, loaded from its data set again: levels 0…K as JSON, or as a `.npy` file.

        The data set is the one that the run certified, by its digest; otherwise a problem says why there is none.
        """
        media_type = choose_media_type(accept, (JSON, NPY))
        found = await service.input(query)
        if media_type == NPY:
            return Response(write_npy(np.ascontiguousarray(found.x)), media_type=NPY)
        x: list[Any] = found.x.tolist()
        return JsonResponse(InputLevelsAnswer(query.name, query.index, found.label, found.levels, x))

    return router
