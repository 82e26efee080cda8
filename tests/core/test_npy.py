"""`.npy` bytes: what numpy writes can be read, numpy can read what is written, and anything else is refused."""

import zipfile
from io import BytesIO

import numpy as np
import pytest

from ellzero.core.errors import InvalidInput
from ellzero.core.npy import read_npy, read_npz, write_npy


def save(array: object) -> bytes:
    stream = BytesIO()
    np.save(stream, np.asanyarray(array), allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", "<i8", ">i4", "u1", "?"])
@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3), ()])
def test_arrays_saved_by_numpy_are_read_in_native_byte_order(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    result = read_npy(save(array))
    assert np.array_equal(result, array)
    assert result.shape == shape
    assert result.dtype == array.dtype.newbyteorder("=")


def test_the_bytes_written_are_those_of_numpy_save() -> None:
    array = np.array([[0.5, 0.25], [1.0, 0.0]])
    assert write_npy(array) == save(array)
    assert np.array_equal(read_npy(write_npy(array), dtype=np.float64, dimensions=2), array)


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"seventeen bytes !", "is not a .npy file (17 bytes)"),
        (b"", "is not a .npy file (0 bytes)"),
        (b"\x93NUMPY\x01\x00\x10\x00{'descr': 1/0   }", "is not a .npy file (27 bytes)"),
        (save(np.array([object()])), "is an array of object"),
        (save(np.array(["text"])), "is an array of <U4"),
        (save(np.array([1j])), "is an array of complex128"),
        (save(np.array([1], np.int32)), "is an array of int32, not float64"),
        (save(np.ones((2, 2))), "has 2 dimensions"),
        (save(np.ones(4))[:-1], "has 31 bytes of values for the shape (4,)"),
        (save(np.ones(4)) + b"x", "has 33 bytes of values for the shape (4,)"),
        (save(np.ones(0)), "has 0 bytes of values for the shape (0,)"),
    ],
)
def test_anything_else_is_refused_in_one_line(data: bytes, wrong: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_npy(data, dtype=np.float64 if "not float64" in wrong else None, dimensions=1, allowed="an array")
    assert str(caught.value) == f"body must be an array; this one {wrong}"


def test_fortran_order_and_too_many_dimensions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="is in Fortran order"):
        read_npy(save(np.asfortranarray(np.ones((2, 3)))))
    with pytest.raises(InvalidInput, match="has 9 dimensions"):
        read_npy(save(np.ones((1,) * 9)))


@pytest.mark.parametrize("header", [b"(((", b"{'descr': '<u1', 'fortran_order': False, 'shape': (", b"\xff"])
def test_an_archive_with_a_broken_header_is_a_value_error(header: bytes) -> None:
    """Also where numpy lets an error of Python's tokenizer through."""
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(ValueError, match=r"."):
        read_npz(archive.getvalue())


def test_the_arrays_of_an_archive_are_read_by_name() -> None:
    archive = BytesIO()
    np.savez_compressed(archive, x=np.arange(3), y=np.ones((2, 2)))
    arrays = read_npz(archive.getvalue())
    assert arrays["x"].tolist() == [0, 1, 2]
    assert arrays["y"].shape == (2, 2)
