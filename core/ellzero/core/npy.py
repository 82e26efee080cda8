"""Writing arrays as the bytes of `.npy` files, and reading them back.

Reading interprets the header only: an array of Python objects, which could run code, is refused before any value is
read. This module needs numpy; import it only where there is an array.
"""

import tokenize
import zipfile
import zlib
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray

from ellzero.core.errors import InvalidInput
from ellzero.core.text import first_line

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_DIMENSIONS = 8
_NPZ_ERRORS = (
    OSError,
    EOFError,
    TypeError,  # a single array
    zlib.error,
    zipfile.BadZipFile,
    tokenize.TokenError,  # a header of an array that is not Python
    NotImplementedError,  # a compression that zipfile does not support
    RuntimeError,  # an archive with a password
)


class InvalidNpy(InvalidInput):
    """``field`` must be ``allowed``; ``value`` says what it is instead, such as "is not a .npy file (17 bytes)"."""

    def __str__(self) -> str:
        return f"{self.field} must be {self.allowed}; this one {self.value}"


def read_npz(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` file by name; ValueError if it is not an archive of plain arrays."""
    try:
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except _NPZ_ERRORS as error:
        raise ValueError(first_line(error)) from error


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
    """The array in a `.npy` file, in this machine's byte order; no memory is allocated before the header is checked.

    It must have this ``dtype`` (by default any of integers, booleans and floats), this number of ``dimensions`` (by
    default at most 8), C order, at least one value, and all values its shape promises. Otherwise `InvalidNpy` says that
    ``field`` must be ``allowed``, and what is wrong. The result may share memory with ``data``; it is then read-only.
    """
    stream = BytesIO(data)
    try:
        shape, fortran_order, header_dtype = _HEADERS[npy.read_magic(stream)](stream)
    except Exception:  # numpy evaluates headers as Python literals, and fails in many ways
        raise InvalidNpy(field, allowed, f"is not a .npy file ({len(data):,} bytes)") from None
    native = header_dtype.newbyteorder("=")
    if header_dtype.hasobject or header_dtype.kind not in "biuf":
        raise InvalidNpy(field, allowed, f"is an array of {header_dtype}")
    if dtype is not None and native != np.dtype(dtype):
        raise InvalidNpy(field, allowed, f"is an array of {header_dtype}, not {np.dtype(dtype)}")
    if len(shape) > _MOST_DIMENSIONS or dimensions not in (None, len(shape)):
        raise InvalidNpy(field, allowed, f"has {len(shape)} dimensions")
    if fortran_order and len(shape) > 1:
        raise InvalidNpy(field, allowed, "is in Fortran order")
    values = memoryview(data)[stream.tell() :]
    if not values or len(values) != prod(shape) * header_dtype.itemsize:
        shown = shape if max(shape, default=0) < 2**63 else "in its header"  # Python does not print thousands of digits
        raise InvalidNpy(field, allowed, f"has {len(values):,} bytes of values for the shape {shown}")
    return np.frombuffer(values, header_dtype).reshape(shape).astype(native, copy=False)
