"""The errors that every part of ellzero raises on purpose.

The tree::

    EllzeroError
    ├── InvalidInput (ValueError)             a value outside what the field allows
    ├── ClientError                           between a client and a service, see `ellzero.client.errors`
    ├── AuditError                            certificates and claims that are refused, see `ellzero.audit.errors`
    ├── TableError                            what can be wrong with a table, see `ellzero.tables.errors`
    ├── SmoothingError                        models, data and votes, see `ellzero.smoothing.errors`
    ├── TreesError                            features, labels and trees, see `ellzero.trees.errors`
    ├── NameTaken (ValueError)                another job has that name, see `ellzero.precompute.errors`
    ├── UnknownJob (LookupError)              the cluster has no job of that name
    ├── BadResults (ValueError)               results of a run that belong to another one, or cannot be read
    ├── StorageFailed                         files that could not be read or written
    ├── ClusterUnreachable (ConnectionError)  no Ray cluster at that address
    ├── ClusterRefused (RuntimeError)         a Ray cluster that answered with an error
    ├── WorkersLost (RuntimeError)            workers of a Ray cluster that could not do the work
    ├── MissingExtra (ImportError)            an optional dependency that is not installed
    ├── Stopped                               work that was stopped before it had a result
    └── Inconsistent (ArithmeticError)        an identity that must hold does not: a bug, never a user's mistake

Constructors take positional arguments only, so that an error survives pickling on its way back from a worker process.
"""

from fractions import Fraction

from ellzero.core.install_hint import install_hint
from ellzero.core.text import escape_line, hide_credentials


class EllzeroError(Exception):
    """Base of everything that ellzero raises on purpose."""


class InvalidInput(EllzeroError, ValueError):
    """``field`` must be ``allowed``, and ``value`` is not."""

    def __init__(self, field: str, allowed: str, value: object) -> None:
        super().__init__(field, allowed, value)
        self.field = field
        self.allowed = allowed
        self.value = value

    def __str__(self) -> str:
        try:
            shown = str(self.value) if isinstance(self.value, Fraction) else repr(self.value)
        except ValueError:  # Python refuses to print integers of thousands of digits
            shown = f"a {type(self.value).__name__} too long to print"
        if len(shown) > 80:
            shown = shown[:77] + "..."
        return f"{self.field} must be {self.allowed}; got {shown}"


class MissingExtra(EllzeroError, ImportError):
    """``what`` needs the optional dependencies of ``ellzero[extra]``; ``module`` is the missing one."""

    def __init__(self, what: str, extra: str, module: str = "") -> None:
        super().__init__(what, extra, module)
        self.what = what
        self.extra = extra
        self.module = module

    def __str__(self) -> str:
        missing = f"the Python module {self.module}" if self.module else "an optional dependency"
        return f"{self.what} needs {missing}: {install_hint(self.extra)}"


class Stopped(EllzeroError):
    """The work was stopped from outside, see `ellzero.core.cancellation`."""

    def __str__(self) -> str:
        return "stopped before there was a result"


class Inconsistent(EllzeroError, ArithmeticError):
    """A checked identity failed, so there is no result."""


class StorageFailed(EllzeroError):
    """The storage at ``uri`` failed, for this ``reason``."""

    def __init__(self, uri: str, reason: str) -> None:
        super().__init__(uri, reason)
        self.uri = uri
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.uri}: {self.reason}"


class BadResults(EllzeroError, ValueError):
    """The results at ``place`` cannot be used, because of ``reason``, which is shown in full."""

    def __init__(self, place: str, reason: str) -> None:
        place, reason = hide_credentials(place), hide_credentials(reason)
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return escape_line(f"{self.place} {self.reason}", 20_000)


class ClusterUnreachable(EllzeroError, ConnectionError):
    """No head of a Ray cluster answers at ``address``."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address

    def __str__(self) -> str:
        return f"no Ray cluster answers at {self.address}"


class ClusterRefused(EllzeroError, RuntimeError):
    """The Ray head at ``address`` answered with an error, for this ``reason``."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        return f"the Ray cluster at {self.address} refused: {self.reason}"


class WorkersLost(EllzeroError, RuntimeError):
    """The workers of a cluster could not do the work, for this ``reason``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the cluster's workers could not do it: {self.reason}"
