"""Routes that read their own requests: FastAPI documents them, and does not stand between a request and its answer.

FastAPI's way of solving parameters and serialising models takes longer than a lookup does.
"""

from collections.abc import Sequence
from typing import Any

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send


class FastRoute(APIRoute):
    """An API route whose endpoint takes the request and returns the response."""

    def __init__(self, path: str, endpoint: Any, **options: Any) -> None:
        super().__init__(path, endpoint, **options)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            response = await endpoint(Request(scope, receive))
            await response(scope, receive, send)

        self.app = answer


class FastPathMiddleware:
    """Takes requests for lean routes without parameters in their path straight to them, all others through FastAPI."""

    def __init__(self, app: ASGIApp, routes: Sequence[object]) -> None:
        self._app = app
        self._lanes = {
            (method, route.path): route
            for route in routes
            if isinstance(route, FastRoute) and not route.param_convertors
            for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = self._lanes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        if route is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        await route.app(scope, receive, send)
