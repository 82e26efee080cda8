"""The service: certified radii over HTTP, and a page that shows the tables.

`create_app` makes the ASGI application of a `ServeSettings`; the command ``ellzero serve`` runs it.
"""

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="serve")
