"""The service: certified radii over HTTP, and a page that shows the tables.

`create_app` makes the ASGI application of a `ServeSettings`; the command ``ellzero serve`` runs it.
"""

from ellzero.serve.app import create_app
from ellzero.serve.settings import ServeSettings

__all__ = ["ServeSettings", "create_app"]
