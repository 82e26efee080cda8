"""The errors of tables, each with a message of one line.

The tree, below `ellzero.core.EllzeroError`::

    TableError
    ├── NotATable (LookupError)          there is no table at the location, or something else
    ├── DamagedShard (ValueError)        the bytes are not those the shard's name promises, or not a shard of ellzero
    ├── NewerFormat (ValueError)         the shard was written by a later version of ellzero
    ├── InvalidManifest (ValueError)     a signed manifest that proves nothing: other bytes, signature or key
    └── Contradiction (ArithmeticError)  two shards differ in the same row: at most one can be right

`ellzero.core.StorageFailed` says that the file system or the object store failed.
"""

from ellzero.core.errors import EllzeroError


class TableError(EllzeroError):
    """Base of what can be wrong with a table."""


class NotATable(TableError, LookupError):
    """There is no table at ``uri``, for this ``reason``."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri} {self.reason}"


class DamagedShard(TableError, ValueError):
    """The shard ``name`` cannot be trusted, for this ``reason``."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"shard {self.name} {self.reason}"


class NewerFormat(TableError, ValueError):
    """The shard ``name`` has format ``version``, and this ellzero reads formats up to ``newest``."""

    def __init__(self, name: str, version: int, newest: int) -> None:
        super().__init__(name, version, newest)
        self.name = name
        self.version = version
        self.newest = newest

    def __str__(self) -> str:
        return (
            f"shard {self.name} has format {self.version}, and this ellzero reads up to {self.newest}: upgrade ellzero"
        )


class InvalidManifest(TableError, ValueError):
    """The signed manifest at ``place`` proves nothing, for this ``reason``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return f"the manifest {self.place} {self.reason}"


class Contradiction(TableError, ArithmeticError):
    """Shards disagree: ``where`` names the row."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where

    def __str__(self) -> str:
        return f"shards disagree about {self.where}: run `ellzero tables verify` to see which is wrong"
