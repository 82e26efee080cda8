"""Arrays as requests and replies carry them: ``.npy`` files. numpy is imported only by those who have an array."""

from typing import TYPE_CHECKING, Any

from ellzero.client.errors import UnsendableValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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


def write_array(array: "NDArray[Any]") -> bytes:
    """An array of contiguous numbers as a ``.npy`` file."""
    from ellzero.core.npy import write_npy

    return write_npy(array)


def read_radii(body: bytes) -> "NDArray[np.int32]":
    """The radii in a ``.npy`` file of one dimension and int32."""
    from ellzero.core.npy import read_npy

    return read_npy(body, dtype="int32", dimensions=1, allowed="a one-dimensional .npy file of int32")


def join_radii(parts: "list[NDArray[np.int32]]", shape: tuple[int, ...]) -> "NDArray[np.int32]":
    """The parts one after the other, in ``shape``; one part is not copied."""
    import numpy as np

    return (parts[0] if len(parts) == 1 else np.concatenate(parts)).reshape(shape)


def radii_array(radii: list[int | None]) -> "NDArray[np.int32]":
    """Radii of a list as an array has them: −1 to abstain."""
    import numpy as np

    return np.array([-1 if radius is None else radius for radius in radii], np.int32)
