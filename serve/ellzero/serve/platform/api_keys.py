"""API keys: stored as hashes, compared in constant time, each valid for some routes."""

import hashlib
import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ellzero.serve.platform.middleware import API_KEY_NAME
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.settings import ApiKey

PROTECTED = ("/v1/", "/metrics")
_BEARER = "bearer "


def make_key() -> tuple[str, str]:
    """Return a new key for a client, and its hash for the settings. 256 random bits need no slow hash."""
    key = f"ellzero-{secrets.token_urlsafe(32)}"
    return key, hash_key(key)


def hash_key(key: str) -> str:
    """Return the SHA-256 of a key as the settings have it."""
    return hashlib.sha256(key.encode()).hexdigest()


class ApiKeyMiddleware:
    """Answers requests to protected routes only if they carry a key that is valid for the route."""

    def __init__(self, app: ASGIApp, keys: Mapping[str, ApiKey]) -> None:
        self._app = app
        self._keys = dict(keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PROTECTED):
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        key = _read_key(Headers(scope=scope))
        if key is None:
            raise HttpProblem(
                401,
                "send an API key in the header x-api-key, or as authorization: Bearer",
                headers={"www-authenticate": "Bearer"},
            )
        digest = hash_key(key)
        # Every key is compared, so that the time taken does not reveal which one came close.
        matching = [name for name, one in self._keys.items() if secrets.compare_digest(one.sha256, digest)]
        if not matching:
            raise HttpProblem(401, "this API key is unknown", headers={"www-authenticate": "Bearer"})
        scope[API_KEY_NAME] = matching[0]
        if not any(_covers(route, scope["path"]) for name in matching for route in self._keys[name].routes):
            raise HttpProblem(403, f"this API key is not valid for {scope['path']}")


def _read_key(headers: Headers) -> str | None:
    key = headers.get("x-api-key")
    if key is not None:
        return key
    authorization = headers.get("authorization", "")
    return authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else None


def _covers(route: str, path: str) -> bool:
    """Return whether a route of a key includes a path: one that ends in / includes all paths below it."""
    return path.startswith(route) if route.endswith("/") else path == route
