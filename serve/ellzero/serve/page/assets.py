"""The page and its files: our own, Swagger UI, and plotly.js. Nothing comes from another host."""

import gzip
import hashlib
import mimetypes
from collections.abc import Callable
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ellzero.serve.page.limits import write_limits_module
from ellzero.serve.platform.requests import accepts_coding
from ellzero.serve.settings import ServeSettings

STATIC = Path(__file__).parent / "static"
# Swagger UI at one version: SHA256SUMS there has its digests, and tools/fetch_swagger_ui.sh fetches it.
VENDOR = Path(__file__).parent / "vendor"
_SWAGGER_UI = ("swagger-ui-bundle.js", "swagger-ui.css")
_PLOTLY = "package_data/plotly.min.js"
_SECURITY = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
        " font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
# Swagger UI writes style attributes.
_DOCS_POLICY = _SECURITY["content-security-policy"].replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")


class Asset:
    """A file that does not change while the service runs, read and compressed once, on first use."""

    def __init__(self, name: str, read: Callable[[], bytes]) -> None:
        self._read = read
        guess = mimetypes.guess_type(name)[0] or "application/octet-stream"
        self._type = "text/javascript" if name.endswith(".js") else guess

    @cached_property
    def _compressed(self) -> bytes:
        return gzip.compress(self._read(), 6, mtime=0)

    @cached_property
    def _tag(self) -> str:
        return f'"{hashlib.sha256(self._compressed).hexdigest()[:32]}"'

    def response(self, request: Request, extra: dict[str, str] | None = None) -> Response:
        """The file, or 304 if the caller already has it."""
        headers = {"etag": self._tag, "cache-control": "no-cache", "vary": "accept-encoding"}
        headers |= _SECURITY | (extra or {})
        if request.headers.get("if-none-match") == self._tag:
            return Response(status_code=304, headers=headers)
        if accepts_coding(request.headers.get("accept-encoding", ""), "gzip"):
            headers["content-encoding"] = "gzip"
            return Response(self._compressed, headers=headers, media_type=self._type)
        return Response(gzip.decompress(self._compressed), headers=headers, media_type=self._type)


class Assets:
    """All files by name."""

    def __init__(self, settings: ServeSettings) -> None:
        paths = [path for path in STATIC.iterdir() if path.is_file()]
        paths += [VENDOR / name for name in _SWAGGER_UI]
        plotly = find_spec("plotly")  # finds the package without importing it
        if plotly is not None and plotly.origin is not None:
            paths.append(Path(plotly.origin).parent / _PLOTLY)
        self._assets = {path.name: Asset(path.name, path.read_bytes) for path in paths}
        self._assets["limits.js"] = Asset("limits.js", partial(write_limits_module, settings))

    def page(self, request: Request) -> Response:
        """The page at /."""
        return self._assets["index.html"].response(request)

    def docs(self, request: Request) -> Response:
        """The page at /docs."""
        return self._assets["docs.html"].response(request, {"content-security-policy": _DOCS_POLICY})

    def file(self, request: Request) -> Response | None:
        """A file by its name."""
        asset = self._assets.get(request.path_params["name"])
        return None if asset is None else asset.response(request)
