"""The routes: each reads a question, asks the service, and writes the answer."""

from dataclasses import asdict

import pyarrow as pa
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ellzero.core.conventions import CONVENTIONS
from ellzero.core.npy import write_npy
from ellzero.core.schemas import (
    CompareAnswer,
    PlanAnswer,
    RadiiAnswer,
    RadiusAnswer,
    TablesAnswer,
    ThresholdsAnswer,
)
from ellzero.serve.lookup.request_models import (
    CompareRequest,
    NoParameters,
    PlanRequest,
    RadiiArrayRequest,
    RadiiRequest,
    RadiusRequest,
    ThresholdsRequest,
    asked,
    batch,
    plainly_asked,
)
from ellzero.serve.lookup.service import LookupService
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.negotiation import preferred
from ellzero.serve.platform.openapi import batch_body, binary, problems, query_of
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import body_of, content_type
from ellzero.serve.platform.serialization import JSON, NPY, JsonResponse, read_values
from ellzero.tables import ColumnResult, import_export
from ellzero.tables.format import shard
from ellzero.tables.lookup import queries

CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
# What has no place for the conventions in its body has them here; headers are Latin letters only.
_CONVENTIONS = {"ellzero-conventions": "; ".join(f"{name}: {text}" for name, text in asdict(CONVENTIONS).items())}


def add_routes(router: APIRouter, service: LookupService, metrics: Metrics) -> None:
    """Add the routes of /v1, answered by a service."""

    def answered(answer: RadiusAnswer | RadiiAnswer) -> JsonResponse:
        metrics.answered(answer.source)
        return JsonResponse(answer)

    @router.get(
        "/v1/radius",
        responses={200: {"model": RadiusAnswer}, **problems(400)},
        openapi_extra={"parameters": query_of(RadiusRequest)},
    )
    async def radius(request: Request) -> Response:
        """The certified radius of a probability p, with a runner-up p_b perhaps, or of count of n votes."""
        query = request.scope["query_string"]
        plain = plainly_asked(query)
        if plain is not None:
            return answered(await service.radius_of_p(*plain))
        return answered(await service.radius(asked(RadiusRequest, query)))

    @router.post(
        "/v1/radius",
        responses={200: {"model": RadiiAnswer, "content": binary(NPY)}, **problems(400, 408, 413, 415)},
        openapi_extra={
            "parameters": query_of(RadiiArrayRequest, required=False),
            "requestBody": batch_body(RadiiRequest),
        },
    )
    async def radii(request: Request) -> Response:
        """The certified radii of many probabilities or counts: JSON, or a `.npy` array with the rest in the query.

        A `.npy` body is one-dimensional, float64 probabilities or, if n is given, int64 counts; so is the reply, int32
        with −1 to abstain.
        """
        kind = content_type(request)
        query = request.scope["query_string"]
        if kind == NPY:
            question = asked(RadiiArrayRequest, query)
            values = read_values(await body_of(request), counts=question.n is not None)
            metrics.batch_values.observe(len(values))
            found = await service.array(question, values)
            metrics.answered(found.source)
            return Response(write_npy(found.radii), 200, {"ellzero-source": found.source, **_CONVENTIONS}, NPY)
        if kind != JSON:
            raise HttpProblem(415, f"send {JSON} or {NPY}", allowed=[JSON, NPY])
        if query:
            raise HttpProblem(
                422, "with JSON every field is in the body, not in the query", field="query", allowed="none"
            )
        asked_of_many = await service.compute(batch, await body_of(request))
        metrics.batch_values.observe(len(asked_of_many.p or asked_of_many.count or ()))
        return answered(await service.radii(asked_of_many))

    @router.get(
        "/v1/thresholds",
        responses={200: {"model": ThresholdsAnswer, "content": binary(CSV, ARROW)}, **problems(400, 406)},
        openapi_extra={"parameters": query_of(ThresholdsRequest)},
    )
    async def thresholds(request: Request) -> Response:
        """The thresholds of one noise, as JSON, CSV or an Arrow stream: p certifies r iff it exceeds that of r."""
        kind = preferred(request.headers.get("accept"), (JSON, CSV, ARROW))
        found = await service.thresholds(asked(ThresholdsRequest, request.scope["query_string"]))
        metrics.answered(found.source)
        return await service.compute(_column_response, found, kind)

    @router.get(
        "/v1/plan",
        responses={200: {"model": PlanAnswer}, **problems(400)},
        openapi_extra={"parameters": query_of(PlanRequest)},
    )
    async def plan(request: Request) -> Response:
        """How many votes radius r needs for inputs of probability p; or how far n votes reach among d coordinates."""
        return JsonResponse(await service.plan(asked(PlanRequest, request.scope["query_string"])))

    @router.get(
        "/v1/compare",
        responses={200: {"model": CompareAnswer}, **problems(400)},
        openapi_extra={"parameters": query_of(CompareRequest)},
    )
    async def compare(request: Request) -> Response:
        """The discrete ℓ0 certificate of bits beside the Gaussian one that keeps them as often."""
        return JsonResponse(await service.compare(asked(CompareRequest, request.scope["query_string"])))

    @router.get("/v1/tables", responses={200: {"model": TablesAnswer}, **problems()})
    async def tables(request: Request) -> Response:
        """What the table has; all else is computed on demand."""
        asked(NoParameters, request.scope["query_string"])
        return JsonResponse(await service.tables())


def _column_response(found: ColumnResult, kind: str) -> Response:
    headers = {"ellzero-source": found.source, **_CONVENTIONS}
    if kind == CSV:
        return Response("\n".join([*import_export.to_csv([found.column]), ""]), 200, headers, CSV)
    if kind == ARROW:
        sink = pa.BufferOutputStream()
        table = shard.arrow([found.column])
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return Response(sink.getvalue().to_pybytes(), 200, headers, ARROW)
    return JsonResponse(queries.answer_column(found))
