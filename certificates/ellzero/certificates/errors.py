"""The errors that every part of ellzero raises on purpose.

The tree::

    EllzeroError
    ├── InvalidInput (ValueError)     a value outside what the field allows
    ├── MissingExtra (ImportError)    an optional dependency that is not installed
    ├── Stopped                       work that was told to stop before it had a result
    └── Inconsistent (ArithmeticError) an identity that must hold does not: a defect, never a user's mistake

Constructors take positional arguments only, so that an error survives pickling on its way back from a
worker process.
"""

from fractions import Fraction


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
    """``what`` needs the optional dependencies of ``ellzero[extra]``."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, extra)
        self.what = what
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.what} needs an optional dependency: pip install 'ellzero[{self.extra}]'"


class Stopped(EllzeroError):
    """Somebody wished this work to end, see `ellzero.certificates.stopping`."""

    def __str__(self) -> str:
        return "stopped before there was a result"


class Inconsistent(EllzeroError, ArithmeticError):
    """A checked identity failed, so no result is given."""
