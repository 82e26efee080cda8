"""The routes of lookups: each reads a request, calls the service, and writes its answer."""

from dataclasses import asdict
from typing import Annotated

import pyarrow as pa
from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from ellzero.core.conventions import CONVENTIONS
from ellzero.core.npy import write_npy
from ellzero.core.schemas import (
    BudgetPlanAnswer,
    BudgetThresholdsAnswer,
    CertifiedAnswer,
    CertifiedListAnswer,
    CompareAnswer,
    FamiliesAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiusAnswer,
    TablesAnswer,
    ThresholdsAnswer,
)
from ellzero.serve.lookup.budget_responses import ARROW, CSV, write_budget_rows
from ellzero.serve.lookup.budget_service import BudgetService
from ellzero.serve.lookup.family_requests import (
    BudgetPlanBody,
    BudgetPlanQuery,
    BudgetThresholdsBody,
    BudgetThresholdsQuery,
    CertifiedBody,
    CertifiedQuery,
    names_family,
    parse_budget_plan,
    parse_budget_thresholds,
    parse_certified,
)
from ellzero.serve.lookup.fast_path import FAMILY, RADIUS_PATH
from ellzero.serve.lookup.request_models import (
    CompareRequest,
    PlanRequest,
    RadiiArrayRequest,
    RadiiRequest,
    RadiusRequest,
    ThresholdsRequest,
    parse_batch,
)
from ellzero.serve.lookup.service import LookupService
from ellzero.serve.platform.field_types import NoParameters
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.openapi import (
    BINARY,
    describe_json,
    describe_json_or_npy,
    describe_problems,
    describe_queries,
)
from ellzero.serve.platform.requests import (
    check_json,
    choose_media_type,
    parse_query,
    parse_values,
    read_body,
    read_body_type,
)
from ellzero.serve.platform.responses import JSON, NPY, JsonResponse
from ellzero.tables import ColumnResult, import_export
from ellzero.tables.format import shard
from ellzero.tables.lookup import queries
from ellzero.tables.lookup.family_catalogue import answer_families

# Formats that have no place for the conventions carry them as a header.
_CONVENTIONS = {"ellzero-conventions": "; ".join(f"{name}: {text}" for name, text in asdict(CONVENTIONS).items())}


def make_lookup_router(service: LookupService, metrics: Metrics) -> APIRouter:
    """Return the routes of lookups, answered by this service."""
    router, budgets = APIRouter(tags=["lookup"]), BudgetService(service)

    def respond(answer: RadiusAnswer | RadiiAnswer | CertifiedAnswer | CertifiedListAnswer) -> JsonResponse:
        metrics.count_answer(answer.source)
        return JsonResponse(answer)

    @router.get(
        RADIUS_PATH,
        response_model=RadiusAnswer | CertifiedAnswer,
        responses=describe_problems(400),
        openapi_extra={"parameters": describe_queries(RadiusRequest, CertifiedQuery)},
        summary="Certified radius",
    )
    async def radius(request: Request) -> Response:
        """The certified radius of a probability `p`, optionally with a runner-up `p_b`; or of `count` of `n` votes.

        Discrete noise has `k`, `alpha` and `d`. With `family` the answer is the largest certified budgets within
        `limits`; the parameters are then those of that family.
        """
        query = parse_query(request.scope["query_string"])
        if FAMILY in query:
            return respond(await budgets.certified(CertifiedQuery.model_validate(query)))
        return respond(await service.radius(RadiusRequest.model_validate(query)))

    @router.post(
        RADIUS_PATH,
        response_model=RadiiAnswer | CertifiedAnswer | CertifiedListAnswer,
        responses={200: {"content": {NPY: BINARY}}, **describe_problems(400, 408, 413, 415)},
        openapi_extra=describe_json_or_npy(RadiiRequest, RadiiArrayRequest, CertifiedBody),
        summary="Certified radii of many values",
    )
    async def radii(request: Request) -> Response:
        """The certified radii of up to 1,000,000 values: JSON, or a `.npy` array with the other fields in the query.

        A `.npy` body is one-dimensional: float64 probabilities or, if `n` is given, int64 counts. The reply is int32,
        −1 to abstain. JSON with a `family` has one p or count, or up to 1,000, of any family of noises.
        """
        if read_body_type(request) == "npy":
            query = RadiiArrayRequest.model_validate(parse_query(request.scope["query_string"]))
            values = parse_values(await read_body(request), counts=query.n is not None)
            metrics.batch_values.observe(len(values))
            result = await service.radii_array(query, values)
            metrics.count_answer(result.source)
            return Response(write_npy(result.radii), 200, {"ellzero-source": result.source, **_CONVENTIONS}, NPY)
        body = await read_body(request)
        certified = await service.pool.run(parse_certified, body) if names_family(body) else None
        if certified is not None:
            return respond(await budgets.certified(certified))
        batch = await service.pool.run(parse_batch, body)
        metrics.batch_values.observe(len(batch.p or batch.count or ()))
        return respond(await service.radii(batch))

    @router.get(
        "/v1/thresholds",
        response_model=ThresholdsAnswer | BudgetThresholdsAnswer,
        responses={200: {"content": {CSV: BINARY, ARROW: BINARY}}, **describe_problems(400, 406)},
        openapi_extra={"parameters": describe_queries(ThresholdsRequest, BudgetThresholdsQuery)},
        summary="Thresholds of a noise",
    )
    async def thresholds(
        request: Request, accept: Annotated[str | None, Header(include_in_schema=False)] = None
    ) -> Response:
        """The thresholds of one noise, as JSON, CSV or an Arrow stream: p certifies r iff p exceeds the one of r.

        With `family` those of all budgets within `limits`, at any `q`.
        """
        media_type = choose_media_type(accept, (JSON, CSV, ARROW))
        query = parse_query(request.scope["query_string"])
        if FAMILY in query:
            return await write_budgets(BudgetThresholdsQuery.model_validate(query), media_type)
        result = await service.thresholds(ThresholdsRequest.model_validate(query))
        metrics.count_answer(result.source)
        return await service.pool.run(_write_column, result, media_type)

    @router.post(
        "/v1/thresholds",
        response_model=BudgetThresholdsAnswer,
        responses={200: {"content": {CSV: BINARY, ARROW: BINARY}}, **describe_problems(400, 406, 408, 413, 415)},
        openapi_extra=describe_json(BudgetThresholdsBody),
        summary="Thresholds of any family",
    )
    async def budget_thresholds(
        request: Request, accept: Annotated[str | None, Header(include_in_schema=False)] = None
    ) -> Response:
        """The thresholds of all budgets within `limits`, of any family of noises: JSON, CSV or an Arrow stream."""
        media_type = choose_media_type(accept, (JSON, CSV, ARROW))
        check_json(request)
        body = await service.pool.run(parse_budget_thresholds, await read_body(request))
        return await write_budgets(body, media_type)

    async def write_budgets(wanted: BudgetThresholdsQuery | BudgetThresholdsBody, media_type: str) -> Response:
        family, limits, q, result = await budgets.thresholds(wanted)
        metrics.count_answer(result.source)
        return await service.pool.run(write_budget_rows, family, limits, q, result, media_type)

    @router.get(
        "/v1/plan",
        response_model=PlanAnswer | BudgetPlanAnswer,
        responses=describe_problems(400),
        openapi_extra={"parameters": describe_queries(PlanRequest, BudgetPlanQuery)},
        summary="Number of votes",
    )
    async def plan(request: Request) -> Response:
        """How many votes radius `r` needs for inputs of probability `p`; or which radius `n` votes can reach.

        With `family`, how many votes a `budget` needs.
        """
        query = parse_query(request.scope["query_string"])
        if FAMILY in query:
            return JsonResponse(await budgets.plan(BudgetPlanQuery.model_validate(query)))
        return JsonResponse(await service.plan(PlanRequest.model_validate(query)))

    @router.post(
        "/v1/plan",
        response_model=BudgetPlanAnswer,
        responses=describe_problems(400, 408, 413, 415),
        openapi_extra=describe_json(BudgetPlanBody),
        summary="Number of votes for any family",
    )
    async def budget_plan(request: Request) -> Response:
        """How many votes a `budget` of any family of noises needs, for inputs of probability `p`."""
        check_json(request)
        body = await service.pool.run(parse_budget_plan, await read_body(request))
        return JsonResponse(await budgets.plan(body))

    @router.get(
        "/v1/families", response_model=FamiliesAnswer, responses=describe_problems(400), summary="Families of noises"
    )
    async def families(query: Annotated[NoParameters, Query()]) -> Response:
        """Every family of noises: what it models, its parameters, and the kinds of change that its budgets count."""
        return JsonResponse(answer_families())

    @router.get(
        "/v1/compare", response_model=CompareAnswer, responses=describe_problems(400), summary="Discrete and Gaussian"
    )
    async def compare(query: Annotated[CompareRequest, Query()]) -> Response:
        """The discrete ℓ0 certificate of bits, and that of Gaussian noise that keeps a bit as often."""
        return JsonResponse(await service.compare(query))

    @router.get(
        "/v1/tables", response_model=TablesAnswer, responses=describe_problems(400), summary="Columns of the table"
    )
    async def tables(query: Annotated[NoParameters, Query()]) -> Response:
        """The columns of the table; all others are computed on demand."""
        return JsonResponse(await service.tables())

    return router


def _write_column(result: ColumnResult, media_type: str) -> Response:
    headers = {"ellzero-source": result.source, **_CONVENTIONS}
    if media_type == CSV:
        return Response("\n".join([*import_export.to_csv([result.column]), ""]), 200, headers, CSV)
    if media_type == ARROW:
        sink = pa.BufferOutputStream()
        table = shard.to_arrow([result.column])
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return Response(sink.getvalue().to_pybytes(), 200, headers, ARROW)
    return JsonResponse(queries.answer_column(result))
