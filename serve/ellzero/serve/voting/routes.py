"""The routes of models: predictions, certificates, and the jobs that long requests become."""

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from ellzero.core.errors import InvalidInput
from ellzero.core.npy import read_npy
from ellzero.core.schemas import (
    CertifyAnswer,
    ExamplesAnswer,
    JobAnswer,
    ModelsAnswer,
    NoisyAnswer,
    PredictAnswer,
)
from ellzero.serve.platform.field_types import NoParameters
from ellzero.serve.platform.openapi import describe_json_or_npy, describe_problems
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import parse_query, read_body, read_body_type
from ellzero.serve.platform.responses import JsonResponse
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.trees.service import TreeService
from ellzero.serve.voting.request_models import (
    CertifyRequest,
    ExamplesRequest,
    JobRequest,
    NoisyRequest,
    PredictRequest,
    VotingRequest,
    parse_voting_body,
)
from ellzero.serve.voting.service import VotingService

V = TypeVar("V", bound=VotingRequest)

_X = {
    "type": "array",
    "items": {},
    "minItems": 1,
    "description": "An input, or several stacked: nested lists of levels 0…K, or of floats that are multiples of 1/K.",
}
_VOTING_RESPONSES = {
    202: {"model": JobAnswer, "description": "A job"},
    **describe_problems(400, 404, 408, 413, 415, 429),
}
JobId = Annotated[str, Path(min_length=1, description="The job's id.")]


def make_voting_router(service: VotingService, trees: TreeService, pool: ThreadPool) -> APIRouter:
    """Return the routes of models: trees and forests are answered for exactly, networks by votes."""
    router = APIRouter(tags=["models"])

    @router.get("/v1/models", response_model=ModelsAnswer, responses=describe_problems(400), summary="Models")
    async def models(query: Annotated[NoParameters, Query()]) -> Response:
        """The models of this service with their `kind`, and those that cannot be used, with the reason."""
        return JsonResponse(trees.add_to(await service.models()))

    @router.get(
        "/v1/examples", response_model=ExamplesAnswer, responses=describe_problems(400, 404), summary="Example inputs"
    )
    async def examples(query: Annotated[ExamplesRequest, Query()]) -> Response:
        """Inputs to try a model on: those in a file beside the model, or one of each class of the bundled digits."""
        tree = trees.find(query.model)
        return JsonResponse(await (service.examples(query) if tree is None else trees.examples(tree)))

    @router.get(
        "/v1/noisy", response_model=NoisyAnswer, responses=describe_problems(400, 404), summary="An example with noise"
    )
    async def noisy(query: Annotated[NoisyRequest, Query()]) -> Response:
        """An example with noise, drawn as samples for votes are drawn. Only networks have samples."""
        if trees.find(query.model) is not None:
            raise InvalidInput("model", "a network: no noise is drawn for trees and forests", query.model)
        return JsonResponse(await service.noisy(query))

    @router.post(
        "/v1/predict",
        response_model=PredictAnswer,
        responses=_VOTING_RESPONSES,
        openapi_extra=describe_json_or_npy(PredictRequest, PredictRequest, x=_X),
        summary="Predict the smoothed classifier's class",
    )
    async def predict(request: Request) -> Response:
        """The smoothed classifier's class for an input, by a two-sided binomial test of `n` votes; or abstain.

        Send the input, or several stacked, as `x` in JSON, or as a `.npy` body with the other fields in the query. A
        request that takes longer than `wait` seconds becomes a job: 202, with its address in `location`.

        For a tree or forest the class is exact, without votes: `n` and the other fields of votes may be left out and
        are ignored, and `exact` has the probability of the class. `alpha` must be the model's own.
        """
        voting_request, x = await read_input(PredictRequest, request)
        if (tree := trees.find(voting_request.model)) is not None:
            return JsonResponse(await trees.predict(tree, voting_request.alpha, x))
        return await vote(voting_request, x, request)

    @router.post(
        "/v1/certify",
        response_model=CertifyAnswer,
        responses=_VOTING_RESPONSES,
        openapi_extra=describe_json_or_npy(CertifyRequest, CertifyRequest, x=_X),
        summary="Certify the smoothed classifier's class",
    )
    async def certify(request: Request) -> Response:
        """A class and its certified radius: `n0` votes choose the class, `n` others bound its probability.

        Requests and answers as in `/v1/predict`. The certificate of a tree or forest is exact and holds with certainty:
        no votes are drawn, `failure` is 0, and `exact` has the probability of the class, and the features that an
        adversary would change for another class or a tie.
        """
        voting_request, x = await read_input(CertifyRequest, request)
        if (tree := trees.find(voting_request.model)) is not None:
            return JsonResponse(await trees.certify(tree, voting_request.alpha, x))
        return await vote(voting_request, x, request)

    @router.get(
        "/v1/jobs/{job}", response_model=JobAnswer, responses=describe_problems(400, 404), summary="State of a job"
    )
    async def get_job(job: JobId, query: Annotated[JobRequest, Query()]) -> Response:
        """A job's state, votes so far and remaining time; with `wait`, answered as soon as the job has ended."""
        return JsonResponse(await service.find_job(job, query.wait))

    @router.delete(
        "/v1/jobs/{job}", response_model=JobAnswer, responses=describe_problems(400, 404), summary="Cancel a job"
    )
    async def cancel_job(job: JobId, query: Annotated[NoParameters, Query()]) -> Response:
        """Cancel a job; one that has ended stays as it is."""
        return JsonResponse(await service.cancel_job(job))

    async def vote(voting_request: VotingRequest, x: Any, request: Request) -> Response:
        job = await service.start(voting_request, x)
        if not await service.wait_for(job, voting_request.wait):
            if await request.is_disconnected():  # no client would learn the job's id
                job.cancel()
                raise HttpProblem(408, "the client disconnected, and its votes were cancelled")
            headers = {"location": f"/v1/jobs/{job.id}", "retry-after": "1"}
            return JsonResponse(await service.publish(job), 202, headers)
        state, reason = job.state
        if job.closed_by_shutdown:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})
        if state != "done":
            kind = "model-failed" if job.failed_in_model else None
            raise HttpProblem(500, reason or "the votes could not be taken", kind)
        return JsonResponse(job.result())

    async def read_input(model: type[V], request: Request) -> tuple[V, Any]:
        if read_body_type(request) == "npy":
            query = model.model_validate(parse_query(request.scope["query_string"]))
            return query, await pool.run(read_npy, await read_body(request))
        return await pool.run(parse_voting_body, model, await read_body(request))

    return router
