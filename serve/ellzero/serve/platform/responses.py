"""JSON responses, with Decimals as plain text; the media types of the service."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

NPY = "application/x-npy"
JSON = "application/json"


class JsonResponse(Response):
    """A JSON response of anything that orjson can write, dataclasses included."""

    def __init__(
        self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None, media_type: str = JSON
    ) -> None:
        # What Response does, for JSON's one charset and without background tasks.
        self.status_code = status
        self.background = None
        self.body = orjson.dumps(content, default=_write_decimal)
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", media_type.encode()),
            *((name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def _write_decimal(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"  # str would write 1E-20
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
