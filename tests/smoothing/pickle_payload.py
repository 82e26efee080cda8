"""A pickle that runs code, to show that no reader unpickles."""

from pathlib import Path
from typing import Any


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
