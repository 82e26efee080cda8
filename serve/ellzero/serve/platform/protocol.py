"""The HTTP protocol as uvicorn speaks it, with larger read-ahead for bodies."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_READ_AHEAD_BYTES = 2**20


class ReadAheadProtocol(HttpToolsProtocol):
    """uvicorn's protocol, except that up to a megabyte of a body is read ahead of the application.

    uvicorn stops reading after 64 KiB until the application has taken them: an array would arrive in many steps, each
    of which takes as long as looking up thousands of its values. `LimitsMiddleware` limits the size of bodies.
    """

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        # While pipelined requests wait for the one before them nothing more is read: there could be any number.
        if not self.pipeline and len(self.cycle.body) <= _READ_AHEAD_BYTES:
            self.flow.resume_reading()
