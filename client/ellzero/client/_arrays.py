"""Arrays as requests and replies carry them: ``.npy`` files. numpy is imported only by those who have an array."""

import sys
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeGuard

from ellzero.client.errors import UnsendableValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def is_array(value: object) -> "TypeGuard[NDArray[Any]]":
    """Whether ``value`` is a numpy array; then, and only then, somebody has imported numpy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_many(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether ``value`` holds several numbers: a list, any other sequence, or an array."""
    return (isinstance(value, Sequence) and not isinstance(value, str | bytes)) or is_array(value)


def flat_probabilities(array: "NDArray[Any]") -> "NDArray[np.float64]":
    """The probabilities in C order as doubles: narrower floats widen exactly, wider ones are refused."""
    import numpy as np

    _check_not_empty("p", array)
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        allowed = "an array of float64, float32 or float16; a list may hold any numbers"
        raise UnsendableValue("p", allowed, f"an array of {array.dtype}")
    return array.astype(np.float64, copy=False).ravel()


def flat_counts(array: "NDArray[Any]") -> "NDArray[np.int64]":
    """The counts in C order as int64."""
    import numpy as np

    _check_not_empty("count", array)
    if array.dtype.kind not in "iu":
        raise UnsendableValue("count", "an array of integers", f"an array of {array.dtype}")
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise UnsendableValue("count", "an array of integers from 0 to n", int(array.max()))
    return array.astype(np.int64, copy=False).ravel()


def _check_not_empty(field: str, array: "NDArray[Any]") -> None:
    if not array.size:
        raise UnsendableValue(field, "at least one value", f"an array of shape {array.shape}")


def npy_bytes(array: "NDArray[Any]") -> bytes:
    """An array of contiguous numbers as a ``.npy`` file. np.save would copy them three times."""
    from numpy.lib import format as npy

    header = BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    return b"".join((header.getvalue(), array.data))


def read_radii(body: bytes) -> "NDArray[np.int32]":
    """The radii in a ``.npy`` file; ValueError if it is not one of 1-D int32. Nothing but its header is interpreted."""
    import numpy as np
    from numpy.lib import format as npy

    stream = BytesIO(body)
    try:
        npy.read_magic(stream)
        shape, _, dtype = npy.read_array_header_1_0(stream)
    except Exception:  # numpy reads headers as Python text: what can go wrong there has many names
        raise ValueError("not a .npy file") from None
    data = memoryview(body)[stream.tell() :]
    if dtype != np.int32 or len(shape) != 1 or len(data) != shape[0] * dtype.itemsize:
        raise ValueError("not a .npy file of int32 in one dimension")
    return np.frombuffer(data, dtype).astype(np.int32)


def joined(parts: "list[NDArray[np.int32]]", shape: tuple[int, ...]) -> "NDArray[np.int32]":
    """The parts one after the other, in ``shape``; one part is not copied."""
    import numpy as np

    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).reshape(shape)


def radii_array(radii: list[int | None]) -> "NDArray[np.int32]":
    """Radii of a list as an array has them: −1 to abstain."""
    import numpy as np

    return np.array([-1 if radius is None else radius for radius in radii], np.int32)
