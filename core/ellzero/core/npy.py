"""Arrays as the bytes of `.npy` files, and back: the one place where they are written and read.

Reading interprets nothing but the header: an array of Python objects, which could run code, is refused before any
value is looked at. This module needs numpy; import it where there is an array.
"""

from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from ellzero.core.errors import InvalidInput

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_DIMENSIONS = 8


class InvalidNpy(InvalidInput):
    """``field`` must be ``allowed``, and what is there ``value``, such as "is not a .npy file (17 bytes)"."""

    def __str__(self) -> str:
        return f"{self.field} must be {self.allowed}; this one {self.value}"


def write_npy(array: NDArray[Any]) -> bytes:
    """The `.npy` file of a C-contiguous array of numbers. `numpy.save` would copy the numbers three times."""
    header = BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    return b"".join((header.getvalue(), array.data))


def read_npy(
    data: bytes,
    *,
    dtype: DTypeLike | None = None,
    dimensions: int | None = None,
    field: str = "body",
    allowed: str = "a .npy file of integers, booleans or floats in C order",
) -> NDArray[Any]:
    """The array in a `.npy` file, in this machine's byte order; nothing of its size is made before it is checked.

    It must have this ``dtype`` (any of integers, booleans and floats by default), this number of ``dimensions`` (at
    most 8 by default), C order, and all its values, at least one. Otherwise `InvalidNpy` says that ``field`` must be
    ``allowed``, and what is wrong. The result may share memory with ``data``, and is then read-only.
    """
    stream = BytesIO(data)
    try:
        shape, fortran_order, stored = _HEADERS[npy.read_magic(stream)](stream)
    except Exception:  # numpy evaluates headers as Python literals, and fails in many ways
        raise InvalidNpy(field, allowed, f"is not a .npy file ({len(data):,} bytes)") from None
    native = stored.newbyteorder("=")
    if stored.hasobject or stored.kind not in "biuf":
        raise InvalidNpy(field, allowed, f"is an array of {stored}")
    if dtype is not None and native != np.dtype(dtype):
        raise InvalidNpy(field, allowed, f"is an array of {stored}, not {np.dtype(dtype)}")
    if len(shape) > _MOST_DIMENSIONS or dimensions not in (None, len(shape)):
        raise InvalidNpy(field, allowed, f"has {len(shape)} dimensions")
    if fortran_order and len(shape) > 1:
        raise InvalidNpy(field, allowed, "is in Fortran order")
    values = memoryview(data)[stream.tell() :]
    if not values or len(values) != prod(shape) * stored.itemsize:
        shown = shape if max(shape, default=0) < 2**63 else "in its header"  # Python does not print thousands of digits
        raise InvalidNpy(field, allowed, f"has {len(values):,} bytes of values for the shape {shown}")
    return np.frombuffer(values, stored).reshape(shape).astype(native, copy=False)
