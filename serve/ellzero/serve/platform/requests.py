"""What routes read of a request besides its query."""

from starlette.exceptions import HTTPException
from starlette.requests import Request

from ellzero.serve.platform.problems import problem_of


async def body_of(request: Request) -> bytes:
    """The whole body, unless it is too large."""
    try:
        return await request.body()
    except HTTPException as error:  # the limit would answer it in plain text
        raise problem_of(error) from None


def content_type(request: Request) -> str:
    """What the body is said to be, without its parameters."""
    return request.headers.get("content-type", "").split(";")[0].strip().lower()
