"""Certificates for the nodes of a graph: one noisy graph gives a vote on every node (``ellzero[graphs]``)."""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="graphs")
