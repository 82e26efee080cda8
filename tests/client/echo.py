"""A service that records its requests, as Fractions and numpy read them, and answers in the shapes of the API."""

import json
from fractions import Fraction
from io import BytesIO
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CONVENTIONS = {"k": "k", "alpha": "alpha", "r": "r", "later": "a field of a later version"}


class Echo:
    """``app``, and the ``requests`` that it got: queries, JSON bodies and arrays."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        routes = [
            Route("/v1/radius", self.radius, methods=["GET"]),
            Route("/v1/radius", self.radii, methods=["POST"]),
            Route("/{path:path}", self.anything),
        ]
        self.app = Starlette(routes=routes)

    async def radius(self, request: Request) -> Response:
        """The p that came back is the Fraction that arrived."""
        query = dict(request.query_params)
        self.record(request, query)
        answer: dict[str, Any] = {
            **dict.fromkeys(("radius", "threshold", "next_threshold", "margin", "count", "n", "p_lower")),
            **dict.fromkeys(("min_count", "next_min_count")),
            **{name: str(Fraction(query[name])) if name in query else None for name in ("p", "p_b", "failure")},
            **{name: int(query[name]) for name in ("k", "d", "count", "n") if name in query},
            "alpha": str(Fraction(query["alpha"])),
            "source": "table",
            "conventions": CONVENTIONS,
            "later": ["a field of a later version"],
        }
        return JSONResponse(answer)

    async def radii(self, request: Request) -> Response:
        """The radius of p is ⌊1000·p⌋, that of a count is the count; 0 abstains. Computed if any is 999."""
        body = await request.body()
        if request.headers["content-type"] == "application/x-npy":
            array = np.load(BytesIO(body), allow_pickle=False)
            self.record(request, (dict(request.query_params), array))
            radii = (array * 1000 if array.dtype.kind == "f" else array).astype(np.int32)
            out = BytesIO()
            np.save(out, np.where(radii == 0, -1, radii).astype(np.int32))
            source = "computed" if 999 in radii else "table"
            return Response(out.getvalue(), media_type="application/x-npy", headers={"ellzero-source": source})
        fields = json.loads(body)
        self.record(request, fields)
        values = [int(Fraction(p) * 1000) for p in fields["p"]] if "p" in fields else fields["count"]
        answer = {
            "radii": [value or None for value in values],
            "source": "computed" if 999 in values else "table",
            "k": fields["k"],
            "alpha": str(Fraction(fields["alpha"])),
            "d": fields["d"],
            "conventions": CONVENTIONS,
        }
        return JSONResponse(answer)

    async def anything(self, request: Request) -> Response:
        """Nothing else is here."""
        problem = {"type": "urn:ellzero:problem:not-found", "status": 404, "detail": "no such page"}
        return JSONResponse(problem, 404, media_type="application/problem+json")

    def record(self, request: Request, fields: Any) -> None:
        self.requests.append(fields)
        self.headers.append(dict(request.headers))
