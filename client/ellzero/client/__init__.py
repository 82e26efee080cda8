"""Asking an ellzero service from Python: `Client`, `AsyncClient`, answers and errors; and ``cli``, the root command.

The names are imported when they are first used, so that the root command starts fast and needs no extra. The clients
need ``pip install 'ellzero[client]'``.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="client")
