"""What can be wrong with a table, each said in one line.

The tree, below `ellzero.certificates.EllzeroError`::

    TableError
    ├── NotATable (LookupError)      no table at the location, or something else lies there
    ├── DamagedShard (ValueError)    bytes that are not those the shard's name promises, or no shard of ours at all
    ├── NewerFormat (ValueError)     written by a later version of ellzero
    ├── Contradiction (ArithmeticError)  two shards say different things of one row: at most one can be right
    └── StorageFailed                the file system or the object store refused
"""

from ellzero.core.errors import EllzeroError


class TableError(EllzeroError):
    """Base of what can be wrong with a table."""


class NotATable(TableError, LookupError):
    """There is no table at ``uri``, because of ``reason``."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri} {self.reason}"


class DamagedShard(TableError, ValueError):
    """The shard ``name`` cannot be trusted, because of ``reason``."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"shard {self.name} {self.reason}"


class NewerFormat(TableError, ValueError):
    """The shard ``name`` has format ``version``, and this ellzero reads formats up to ``known``."""

    def __init__(self, name: str, version: int, known: int) -> None:
        super().__init__(name, version, known)
        self.name = name
        self.version = version
        self.known = known

    def __str__(self) -> str:
        return (
            f"shard {self.name} has format {self.version}, and this ellzero reads up to {self.known}: upgrade ellzero"
        )


class Contradiction(TableError, ArithmeticError):
    """Shards disagree: ``where`` names the row."""

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self.where = where

    def __str__(self) -> str:
        return f"shards disagree about {self.where}: run `ellzero tables verify` to see which is wrong"
