"""Families of noises: each states what one changed coordinate looks like, and all else follows from that."""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
