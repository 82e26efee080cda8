"""Errors of audits. They are `EllzeroError`s, and also the builtin that a caller would expect.

The tree::

    AuditError
    ├── RejectedCertificate (ValueError)  a document that is no certificate, or whose claim does not follow
    └── UnreadableClaims (ValueError)     a file of others' results that cannot be judged
"""

from ellzero.core.errors import EllzeroError
from ellzero.core.text import escape_line, hide_credentials


class AuditError(EllzeroError):
    """Base of the errors of `ellzero.audit`. ``place`` cannot be used, because of ``reason``."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return escape_line(f"{hide_credentials(self.place)} {self.reason}", 2_000)


class RejectedCertificate(AuditError, ValueError):
    """The document at ``place`` is no certificate, or what it claims does not follow from what it says."""


class UnreadableClaims(AuditError, ValueError):
    """The file at ``place`` holds no radii that could be judged."""
