"""The errors of precomputation, on top of those of ``ellzero.core.errors``.

The tree::

    EllzeroError
    ├── ClusterUnreachable (ConnectionError)  nothing answers at this address as a Ray head does
    ├── ClusterRefused (RuntimeError)         a Ray head answered, and refused the request
    ├── UnknownJob (LookupError)              no job of this name
    ├── NameTaken (ValueError)                the name belongs to a job with another command
    └── WorkersLost (RuntimeError)            the cluster's workers could not do the work

Constructors take positional arguments only, so that an error survives pickling.
"""

from ellzero.core.errors import EllzeroError


class UnknownJob(EllzeroError, LookupError):
    """The cluster at ``address`` has no job called ``name``."""

    def __init__(self, name: str, address: str) -> None:
        super().__init__(name, address)
        self.name = name
        self.address = address

    def __str__(self) -> str:
        return f"no job called {self.name} at {self.address}"


class NameTaken(EllzeroError, ValueError):
    """``name`` belongs to a job that runs another command, ``owner``."""

    def __init__(self, name: str, owner: str) -> None:
        super().__init__(name, owner)
        self.name = name
        self.owner = owner

    def __str__(self) -> str:
        return f"the name {self.name} belongs to a job with another command, so choose another name: {self.owner}"
