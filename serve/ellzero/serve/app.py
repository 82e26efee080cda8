"""The application: settings in, a FastAPI application out."""

import gc
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Literal

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ellzero.serve.lookup.fast_path import FastPathMiddleware
from ellzero.serve.lookup.routes import make_lookup_router
from ellzero.serve.lookup.service import LookupService
from ellzero.serve.page.assets import Assets
from ellzero.serve.platform.api_keys import ApiKeyMiddleware
from ellzero.serve.platform.lifecycle import Lifecycle
from ellzero.serve.platform.logs import AccessLog
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.middleware import REQUEST_ID, LimitsMiddleware, ObservabilityMiddleware
from ellzero.serve.platform.openapi import describe_problems, make_route_dependencies
from ellzero.serve.platform.problems import HttpProblem, make_problem
from ellzero.serve.results.routes import make_results_router
from ellzero.serve.results.service import ResultsService
from ellzero.serve.settings import ServeSettings, read_settings
from ellzero.serve.trees.service import TreeService
from ellzero.serve.voting.routes import make_voting_router
from ellzero.serve.voting.service import VotingService

_READ = ["GET", "HEAD"]
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Health(BaseModel):
    """The answer of /healthz."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """The answer of /readyz."""

    status: Literal["ready"] = "ready"


class Service(FastAPI):
    """FastAPI whose outermost layer is `ObservabilityMiddleware`, which turns every exception into a problem.

    Starlette would put an error page of its own around all middleware, which also slows plain lookups down
    (docs/architecture.md has the figures).
    """

    def build_middleware_stack(self) -> ASGIApp:
        stack = super().build_middleware_stack()
        assert isinstance(stack, ServerErrorMiddleware)
        return stack.app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # What FastAPI and Starlette do here, without root_path, which this service does not have.
        if self.middleware_stack is None:
            self.middleware_stack = self.build_middleware_stack()
        scope["app"] = self
        await self.middleware_stack(scope, receive, send)


def create_app(settings: ServeSettings | None = None) -> FastAPI:
    """Return the service with these settings, by default those of the environment. It loads the table on startup."""
    settings = settings or read_settings()
    metrics = Metrics()
    lifecycle = Lifecycle(settings.drain_seconds)
    log = AccessLog(settings.log_format, settings.log_level)
    lookup = LookupService(settings, metrics)
    trees = TreeService(settings, lookup.pool)
    voting = VotingService(settings, metrics, lookup.pool, trees.names)
    results = ResultsService(settings, lookup.pool)
    app = Service(
        title="ellzero",
        summary="Exact certificates of ℓ0 robustness for randomly smoothed classifiers",
        version=version("ellzero"),
        lifespan=_make_lifespan(lookup, voting, trees, results, lifecycle, metrics, log),
        docs_url=None,
        redoc_url=None,
        middleware=_make_middleware(settings, metrics, lifecycle, log, lookup),
        # Routes raise domain errors, which ObservabilityMiddleware turns into problems; these are FastAPI's own.
        exception_handlers={HTTPException: _respond_with_problem, RequestValidationError: _respond_with_problem},
    )
    dependencies = make_route_dependencies(with_keys=bool(settings.api_keys))
    app.include_router(make_lookup_router(lookup, metrics), dependencies=dependencies)
    app.include_router(make_voting_router(voting, trees, lookup.pool), dependencies=dependencies)
    app.include_router(make_results_router(results), dependencies=dependencies)
    _add_operation(app, metrics, lifecycle)
    _add_pages(app, settings)
    return app


def _make_middleware(
    settings: ServeSettings, metrics: Metrics, lifecycle: Lifecycle, log: AccessLog, lookup: LookupService
) -> list[Middleware]:
    """Return what a request passes through, from the outside in."""
    stack = [
        Middleware(ObservabilityMiddleware, metrics=metrics, lifecycle=lifecycle, log=log),
        Middleware(
            LimitsMiddleware,
            max_concurrency=settings.max_concurrency,
            max_bytes=settings.max_body_bytes,
            timeout=settings.request_timeout,
        ),
        Middleware(FastPathMiddleware, service=lookup, metrics=metrics),
    ]
    if settings.api_keys:
        stack.insert(2, Middleware(ApiKeyMiddleware, keys=settings.api_keys))
    if settings.cors_origins:  # outermost, so that other pages can read problems too
        cors = Middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
            expose_headers=["ellzero-source", "ellzero-conventions", "location", "retry-after", "x-request-id"],
        )
        stack.insert(0, cors)
    return stack


def _make_lifespan(
    lookup: LookupService,
    voting: VotingService,
    trees: TreeService,
    results: ResultsService,
    lifecycle: Lifecycle,
    metrics: Metrics,
    log: AccessLog,
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    async def reload() -> None:
        try:
            await to_thread(lookup.load)
            await to_thread(trees.load)
            await to_thread(voting.load)
        except Exception:
            metrics.reloads.labels("failed").inc()
            raise
        metrics.reloads.labels("done").inc()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        lookup.load()
        trees.load()
        voting.load()
        results.load()
        with _freeze_loaded_objects():
            async with lifecycle.handle_signals(reload):
                yield
        voting.close()
        results.close()
        lookup.close()
        log.flush()

    return lifespan


@contextmanager
def _freeze_loaded_objects() -> Iterator[None]:
    """Keep the garbage collector away from the table: it runs as often as usual, but among new objects only."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _add_operation(app: FastAPI, metrics: Metrics, lifecycle: Lifecycle) -> None:
    @app.get("/healthz", tags=["operation"], summary="Liveness")
    async def healthz() -> Health:
        """The process is alive."""
        return Health()

    @app.get("/readyz", tags=["operation"], summary="Readiness", responses=describe_problems())
    async def readyz() -> Readiness:
        """The table is loaded, and the service is not shutting down: send requests here."""
        if lifecycle.draining:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})
        return Readiness()

    @app.get("/metrics", include_in_schema=False)
    async def metrics_text() -> Response:
        return Response(metrics.render(), media_type=_PROMETHEUS)


def _add_pages(app: FastAPI, settings: ServeSettings) -> None:
    assets = Assets(settings)

    @app.api_route("/", methods=_READ, include_in_schema=False)
    async def page(request: Request) -> Response:
        return await to_thread(assets.page, request)

    @app.api_route("/docs", methods=_READ, include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await to_thread(assets.docs, request)

    @app.api_route("/assets/{name}", methods=_READ, include_in_schema=False)
    async def asset(request: Request) -> Response:
        file = await to_thread(assets.file, request)
        if file is None:
            raise HttpProblem(404, "there is no such file")
        return file


async def _respond_with_problem(request: Request, error: Exception) -> Response:
    """Answer errors that FastAPI itself raises: no such path or method, or parameters that are not allowed."""
    path = request.scope["path"]
    if isinstance(error, HTTPException) and error.status_code == 404:
        error = HttpProblem(404, f"there is nothing at {path[:200]}; /docs lists all routes")
    return make_problem(error).response(path, request.scope[REQUEST_ID])
