"""The routes of models: predictions, certificates, and the jobs that long ones become."""

from typing import TypeVar

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ellzero.core.npy import read_npy
from ellzero.core.schemas import (
    CertifyAnswer,
    ExamplesAnswer,
    JobAnswer,
    ModelsAnswer,
    NoisyAnswer,
    PredictAnswer,
)
from ellzero.serve.lookup.request_models import (
    CertifyRequest,
    ExamplesRequest,
    JobRequest,
    NoisyRequest,
    NoParameters,
    PredictRequest,
    VotingRequest,
    asked,
    vote,
)
from ellzero.serve.platform.openapi import path_parameter, problems, query_of, vote_body
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import body_of, content_type
from ellzero.serve.platform.serialization import JSON, NPY, JsonResponse
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.voting.job import VotingJob
from ellzero.serve.voting.service import VotingService

V = TypeVar("V", bound=VotingRequest)

_REFUSALS = (400, 404, 408, 413, 415, 429)


def add_model_routes(router: APIRouter, polling: VotingService, work: ThreadPool) -> None:
    """Add the routes of /v1 that models answer."""

    @router.get("/v1/models", responses={200: {"model": ModelsAnswer}, **problems(400)})
    async def models(request: Request) -> Response:
        """The models that can be asked. Callers name one; they never send code or paths."""
        asked(NoParameters, request.scope["query_string"])
        return JsonResponse(await polling.models())

    @router.get(
        "/v1/examples",
        responses={200: {"model": ExamplesAnswer}, **problems(400, 404)},
        openapi_extra={"parameters": query_of(ExamplesRequest)},
    )
    async def examples(request: Request) -> Response:
        """Inputs to try a model on, for models of data that ships with the service: one of each class."""
        return JsonResponse(await polling.examples(asked(ExamplesRequest, request.scope["query_string"])))

    @router.get(
        "/v1/noisy",
        responses={200: {"model": NoisyAnswer}, **problems(400, 404)},
        openapi_extra={"parameters": query_of(NoisyRequest)},
    )
    async def noisy(request: Request) -> Response:
        """An example under noise, drawn as the votes draw theirs."""
        return JsonResponse(await polling.noisy(asked(NoisyRequest, request.scope["query_string"])))

    @router.post(
        "/v1/predict",
        responses={200: {"model": PredictAnswer}, 202: {"model": JobAnswer}, **problems(*_REFUSALS)},
        openapi_extra={
            "parameters": query_of(PredictRequest, required=False),
            "requestBody": vote_body(PredictRequest),
        },
    )
    async def predict(request: Request) -> Response:
        """The most probable class of an input under noise, by a two-sided binomial test of n votes; or abstain.

        The input, or several stacked, is `x` in JSON, or a `.npy` body with the rest in the query. What takes longer
        than `wait` seconds is a job: 202, and its place in `location`.
        """
        return await answered(request, *await begun(PredictRequest, request))

    @router.post(
        "/v1/certify",
        responses={200: {"model": CertifyAnswer}, 202: {"model": JobAnswer}, **problems(*_REFUSALS)},
        openapi_extra={
            "parameters": query_of(CertifyRequest, required=False),
            "requestBody": vote_body(CertifyRequest),
        },
    )
    async def certify(request: Request) -> Response:
        """A class of an input, and the radius in which it stays: n0 votes select it, n fresh ones bound its p.

        Given and answered as in `/v1/predict`.
        """
        return await answered(request, *await begun(CertifyRequest, request))

    @router.get(
        "/v1/jobs/{job}",
        responses={200: {"model": JobAnswer}, **problems(400, 404)},
        openapi_extra={"parameters": [path_parameter("job"), *query_of(JobRequest)]},
    )
    async def find(request: Request) -> Response:
        """A job: its state, votes so far, about how long it will take; with `wait`, as soon as it is over."""
        question = asked(JobRequest, request.scope["query_string"])
        return JsonResponse(await polling.find(request.path_params["job"], question.wait))

    @router.delete(
        "/v1/jobs/{job}",
        responses={200: {"model": JobAnswer}, **problems(400, 404)},
        openapi_extra={"parameters": [path_parameter("job")]},
    )
    async def cancel(request: Request) -> Response:
        """Cancel a job; one that is over stays as it is."""
        asked(NoParameters, request.scope["query_string"])
        return JsonResponse(await polling.cancel(request.path_params["job"]))

    async def begun(kind: type[V], request: Request) -> tuple[V, VotingJob]:
        query, sent = request.scope["query_string"], content_type(request)
        if sent == NPY:
            question = asked(kind, query)
            return question, await polling.begin(question, await work.do(read_npy, await body_of(request)))
        if sent != JSON:
            raise HttpProblem(415, f"send {JSON} or {NPY}", allowed=[JSON, NPY])
        if query:
            raise HttpProblem(
                422, "with JSON every field is in the body, not in the query", field="query", allowed="none"
            )
        question, x = await work.do(vote, kind, await body_of(request))
        return question, await polling.begin(question, x)

    async def answered(request: Request, question: VotingRequest, job: VotingJob) -> Response:
        if not await polling.settled(job, question.wait):
            if await request.is_disconnected():  # nobody would learn the job's id
                job.cancel()
                raise HttpProblem(408, "the caller has gone, and the votes with it")
            answer = await polling.announced(job)
            headers = {"location": f"/v1/jobs/{job.id}", "retry-after": "1"}
            return JsonResponse(answer, 202, headers)
        answer = job.answer()
        if job.closed:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})
        if answer.state != "done":
            raise HttpProblem(500, answer.reason or "the votes could not be taken", "model-failed")
        return JsonResponse(answer.certificate or answer.prediction)
