"""How bodies arrive."""

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_WITHOUT_A_PAUSE = 2**20


class WholeBodies(HttpToolsProtocol):
    """HTTP as uvicorn speaks it, but a body may arrive up to a megabyte ahead of whoever reads it.

    uvicorn itself stops reading after 64 KiB until the application has taken them: an array would arrive in many steps,
    each of which takes as long as looking up thousands of its values. Bodies are limited elsewhere.
    """

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        # While requests wait for the one before them, nothing more is read: they could be any number.
        if not self.pipeline and len(self.cycle.body) <= _WITHOUT_A_PAUSE:
            self.flow.resume_reading()
