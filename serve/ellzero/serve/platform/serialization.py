"""How answers travel: JSON by orjson, Decimals as text; `.npy` for arrays."""

from collections.abc import Mapping
from decimal import Decimal
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
import orjson
from numpy.lib import format as npy
from numpy.typing import NDArray
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ellzero.core.errors import InvalidInput

NPY = "application/x-npy"
JSON = "application/json"
_NPY_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_DIMENSIONS = 8
_NPY_ARRAY = "a .npy file of one dimension, float64 probabilities, or int64 counts if n is given"


class JsonResponse(Response):
    """A response whose body is anything that orjson knows, dataclasses included."""

    def __init__(
        self, content: Any, status: int = 200, headers: Mapping[str, str] | None = None, media_type: str = JSON
    ) -> None:
        # What Response does, for the one charset that JSON has, and with nothing to do in the background.
        self.status_code = status
        self.body = orjson.dumps(content, default=_text)
        self.raw_headers = [
            (b"content-length", b"%d" % len(self.body)),
            (b"content-type", media_type.encode()),
            *((name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def written_npy(array: NDArray[Any]) -> bytes:
    """An array of contiguous numbers as the bytes of a `.npy` file. np.save would copy them three times."""
    header = BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    return b"".join((header.getvalue(), array.data))


def read_npy(body: bytes, counts: bool) -> NDArray[Any]:
    """The array in a `.npy` body, checked before anything of its size is made. Objects could run code: refused."""
    stream = BytesIO(body)
    wanted = np.dtype(np.int64 if counts else np.float64)
    try:
        shape, _, dtype = _NPY_HEADERS[npy.read_magic(stream)](stream)
    except Exception:  # numpy reads headers as Python text: what can go wrong there has many names
        raise InvalidInput("body", _NPY_ARRAY, f"{len(body)} bytes that are none") from None
    if dtype.newbyteorder("=") != wanted or dtype.hasobject:
        raise InvalidInput("body", f"{_NPY_ARRAY}; here {wanted}", f"an array of {dtype}")
    if len(shape) != 1:
        raise InvalidInput("body", _NPY_ARRAY, f"an array of {len(shape)} dimensions")
    data = memoryview(body)[stream.tell() :]
    if not data or len(data) != shape[0] * dtype.itemsize:
        raise InvalidInput("body", f"{_NPY_ARRAY}, whole and not empty", f"{len(data)} bytes of values")
    return np.frombuffer(data, dtype).astype(wanted, copy=False)


def read_input_npy(body: bytes) -> NDArray[Any]:
    """An input, or several stacked, in a `.npy` body: integers, booleans or floats of any shape."""
    stream = BytesIO(body)
    allowed = "a .npy file of integers, booleans or floats"
    try:
        shape, fortran, dtype = _NPY_HEADERS[npy.read_magic(stream)](stream)
    except Exception:  # as above
        raise InvalidInput("body", allowed, f"{len(body)} bytes that are none") from None
    if dtype.hasobject or dtype.kind not in "biuf" or fortran or len(shape) > _MOST_DIMENSIONS:
        raise InvalidInput("body", f"{allowed}, in C order", f"an array of {dtype} with {len(shape)} dimensions")
    data = memoryview(body)[stream.tell() :]
    if not data or len(data) != prod(shape) * dtype.itemsize:
        raise InvalidInput("body", f"{allowed}, whole and not empty", f"{len(data)} bytes of values")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _text(value: object) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"  # str would write 1E-20
    raise TypeError(f"{type(value).__name__} does not travel")
