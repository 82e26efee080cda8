"""Documents whose bytes are determined by what they say: canonical JSON, so that a digest or a signature means it.

ASCII, sorted keys, each once, no spaces, no line feed, and no numbers but integers: exact numbers that are none are
text. Reading refuses any other bytes of the same meaning.
"""

import json
import os
import stat
from pathlib import Path
from typing import Any


class NotCanonical(ValueError):
    """Bytes that are no canonical JSON; the message continues "the file …"."""


def write_canonical(document: Any) -> bytes:
    """The bytes of a document, of mappings, lists, text, integers, booleans and None."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def read_canonical(data: bytes) -> Any:
    """The document that has exactly these bytes. Raises `NotCanonical`."""
    try:
        document = json.loads(data, parse_float=_refuse, parse_constant=_refuse)
    except NotCanonical:
        raise
    except (ValueError, RecursionError):
        raise NotCanonical("is not JSON") from None
    try:
        is_canonical = write_canonical(document) == data
    except RecursionError:
        raise NotCanonical("is not JSON") from None
    if not is_canonical:
        raise NotCanonical("is not canonical JSON: sorted keys, each once, and no spaces")
    return document


def read_small_file(path: Path, most_bytes: int) -> bytes:
    """The bytes of an ordinary file; one byte more than ``most_bytes`` of a longer one.

    Raises `OSError` for what is no ordinary file, instead of waiting for a pipe that nobody writes to.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "is no ordinary file", str(path))
        return file.read(most_bytes + 1)


def _refuse(number: str) -> None:
    raise NotCanonical(f"has a number that is no integer: {number[:40]}")
