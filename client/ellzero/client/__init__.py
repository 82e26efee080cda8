"""Clients of an ellzero service: `Client`, `AsyncClient`, their answers and errors.

The names are imported when they are first used, so that an error class does not load httpx2. The clients
need ``pip install 'ellzero[client]'``.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="client")
