"""Certificates as documents that others can check, and checks of others' results.

`make_document` writes what votes certify; `verify_document` derives it again by a route that shares nothing with the
engine of `ellzero.certificates`.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
