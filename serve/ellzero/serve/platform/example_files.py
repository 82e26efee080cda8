"""Files of example inputs, beside the models that they are for: ``<model>.examples.npz``."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

EXAMPLES_SUFFIX = ".examples.npz"
MAX_EXAMPLES = 32
_MAX_BYTES = 2**20


def find_fault(path: Path) -> str | None:
    """Return why a file is not read, None if it may be. Its size is checked: a small archive may hold large arrays."""
    try:
        with ZipFile(path) as archive:
            size = sum(file.file_size for file in archive.infolist())
    except (OSError, BadZipFile) as error:
        return f"is not an .npz file: {error}"
    return f"has {size:,} bytes of arrays, more than {_MAX_BYTES:,}" if size > _MAX_BYTES else None
