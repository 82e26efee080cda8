"""The application: settings in, an ASGI application out."""

import gc
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version

from fastapi import FastAPI
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ellzero.core.errors import InvalidInput
from ellzero.serve.lookup.fast_path import FastPathMiddleware, FastRoute
from ellzero.serve.lookup.routes import add_routes
from ellzero.serve.lookup.service import LookupService
from ellzero.serve.page.assets import Assets
from ellzero.serve.platform.api_keys import ApiKeyMiddleware
from ellzero.serve.platform.lifecycle import Lifecycle
from ellzero.serve.platform.logs import AccessLog
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.middleware import REQUEST_ID, LimitsMiddleware, ObservabilityMiddleware
from ellzero.serve.platform.problems import HttpProblem, problem_of
from ellzero.serve.platform.serialization import JsonResponse
from ellzero.serve.settings import ServeSettings
from ellzero.serve.voting.routes import add_model_routes
from ellzero.serve.voting.service import VotingService

_READ = ["GET", "HEAD"]
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Application:
    """The service as an ASGI application: FastAPI, and around it what every request passes through."""

    def __init__(self, settings: ServeSettings) -> None:
        self._metrics = Metrics()
        self._lifecycle = Lifecycle(settings.drain_seconds)
        self._log = AccessLog(settings.log_format, settings.log_level)
        self._service = LookupService(settings, self._metrics)
        self.api = FastAPI(
            title="ellzero",
            summary="Exact certificates of ℓ0 robustness for randomly smoothed classifiers",
            version=version("ellzero"),
            lifespan=self._lifespan,
            docs_url=None,
            redoc_url=None,
            # Fast routes raise to `ObservabilityMiddleware`; those with parameters in their path come through FastAPI.
            exception_handlers=dict.fromkeys((HTTPException, HttpProblem, InvalidInput, ValidationError), _as_problem),
        )
        self.api.router.route_class = FastRoute
        add_routes(self.api.router, self._service, self._metrics)
        self._polling = VotingService(settings, self._metrics, self._service.work)
        add_model_routes(self.api.router, self._polling, self._service.work)
        _add_operation(self.api, self._metrics, self._lifecycle)
        _add_pages(self.api)
        self._outermost = self._layered(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._outermost(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        self._service.load()
        self._polling.load()
        with _settled_objects():
            async with self._lifecycle.signals(self._reload):
                yield
        self._polling.close()
        self._service.close()
        self._log.flush()

    async def _reload(self) -> None:
        try:
            await to_thread(self._service.load)
            await to_thread(self._polling.load)
        except Exception:
            self._metrics.reloads.labels("failed").inc()
            raise
        self._metrics.reloads.labels("done").inc()

    def _layered(self, settings: ServeSettings) -> ASGIApp:
        """What a request passes through, from the inside out."""
        app: ASGIApp = FastPathMiddleware(self.api, self.api.routes)
        if settings.api_keys:
            app = ApiKeyMiddleware(app, settings.api_keys)
        app = LimitsMiddleware(app, settings.max_concurrency, settings.max_body_bytes, settings.request_timeout)
        app = ObservabilityMiddleware(app, self._metrics, self._lifecycle, self._log)
        if settings.cors_origins:  # outside of all that makes answers, so that other pages can read problems too
            app = CORSMiddleware(
                app,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "DELETE"],
                allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
                expose_headers=["ellzero-source", "ellzero-conventions", "location", "retry-after", "x-request-id"],
            )
        return app


def create_app(settings: ServeSettings | None = None) -> Application:
    """The service with these settings, by default those of the environment. The table is loaded when it starts."""
    return Application(settings or ServeSettings())


@contextmanager
def _settled_objects() -> Iterator[None]:
    """Look for garbage among new objects only: the table's stay. As often as usual, since an error may hold a body."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _add_operation(app: FastAPI, metrics: Metrics, lifecycle: Lifecycle) -> None:
    @app.get("/healthz")
    async def healthz(request: Request) -> Response:
        """The process lives."""
        return JsonResponse({"status": "ok"})

    @app.get("/readyz")
    async def readyz(request: Request) -> Response:
        """Requests should be sent here: the table is loaded, and the service is not on its way out."""
        if lifecycle.draining:
            raise HttpProblem(503, "the service is shutting down", headers={"retry-after": "5"})
        return JsonResponse({"status": "ready"})

    @app.get("/metrics", include_in_schema=False)
    async def metrics_text(request: Request) -> Response:
        return Response(metrics.text(), media_type=_PROMETHEUS)


def _add_pages(app: FastAPI) -> None:
    assets = Assets()

    @app.api_route("/", methods=_READ, include_in_schema=False)
    async def page(request: Request) -> Response:
        return await to_thread(assets.page, request)

    @app.api_route("/docs", methods=_READ, include_in_schema=False)
    async def docs(request: Request) -> Response:
        return await to_thread(assets.docs, request)

    @app.api_route("/assets/{name}", methods=_READ, include_in_schema=False)
    async def asset(request: Request) -> Response:
        found = await to_thread(assets.file, request)
        if found is None:
            raise HTTPException(404, "there is no such file")
        return found


async def _as_problem(request: Request, error: Exception) -> Response:
    """What FastAPI itself raises, that there is no such path or method; and what routes raise inside of it."""
    path = request.scope["path"]
    if isinstance(error, HTTPException) and error.status_code == 404:
        error = HttpProblem(404, f"there is nothing at {path[:200]}; /docs tells what there is")
    return problem_of(error).response(path, request.scope[REQUEST_ID])
