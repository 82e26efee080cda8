"""API keys: kept as hashes, compared in constant time, each opening some routes."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.settings import ApiKey

PROTECTED = ("/v1/", "/metrics")
_BEARER = "bearer "


def new_key() -> tuple[str, str]:
    """A fresh key for a caller, and the hash of it for the settings. 256 random bits need no slow hash."""
    key = f"ellzero-{secrets.token_urlsafe(32)}"
    return key, hashed(key)


def hashed(key: str) -> str:
    """The SHA-256 of a key as the settings have it."""
    return hashlib.sha256(key.encode()).hexdigest()


class ApiKeyMiddleware:
    """Lets a request to a protected route pass only with a key that opens it."""

    def __init__(self, app: ASGIApp, keys: Mapping[str, ApiKey]) -> None:
        self._app = app
        self._keys = tuple(keys.values())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(PROTECTED):
            self._check(scope)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        given = _given(Headers(scope=scope))
        if given is None:
            raise HttpProblem(
                401, "send an API key as x-api-key, or as authorization: Bearer", headers={"www-authenticate": "Bearer"}
            )
        digest = hashed(given)
        # Every key is compared, so that the time taken does not tell which one came close.
        matching = [key for key in self._keys if secrets.compare_digest(key.sha256, digest)]
        if not matching:
            raise HttpProblem(401, "the API key is not known", headers={"www-authenticate": "Bearer"})
        if not _opens(matching, scope["path"]):
            raise HttpProblem(403, f"this API key does not open {scope['path']}")


def _given(headers: Headers) -> str | None:
    key = headers.get("x-api-key")
    if key is not None:
        return key
    authorization = headers.get("authorization", "")
    return authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else None


def _opens(keys: Iterable[ApiKey], path: str) -> bool:
    """A route ending in / opens all below it."""
    return any(path.startswith(route) if route.endswith("/") else path == route for key in keys for route in key.routes)
