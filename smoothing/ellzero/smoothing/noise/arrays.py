"""Arrays of any library as numpy's, without loading the libraries."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_tensor(value: object) -> bool:
    """Whether this is a torch tensor. Where torch has not been loaded, nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def read_array(values: Any) -> NDArray[Any] | None:
    """Numbers or texts of any form as an array; None if they are no array of one shape."""
    try:
        if is_tensor(values):  # numpy has no bfloat16, and a double holds every float of torch's
            values = (values.double() if values.is_floating_point() else values).numpy(force=True)
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return None
    return None if array.dtype.kind == "O" else array
