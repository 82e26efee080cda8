"""Ray's client of the job API: every request is bounded, and every error is one line."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from command_line import Ellzero

from ellzero.core.errors import ClusterRefused
from ellzero.precompute.jobs import ray_client


def test_an_address_that_never_answers_is_given_up(ellzero: Ellzero, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_client, "ANSWER_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert ellzero(f"jobs list --address {address}") == (1, "", f"ellzero: no Ray cluster answers at {address}\n")


@pytest.mark.parametrize(("status", "body"), [(404, b""), (500, b""), (200, b"hello"), (200, b"[]"), (200, b"{}")])
def test_a_server_that_is_not_ray_is_one_line(ellzero: Ellzero, status: int, body: bytes) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            run = ellzero(f"jobs list --address {address}")
        finally:
            server.shutdown()
            thread.join()
    assert run == (1, "", f"ellzero: no Ray cluster answers at {address}\n")


def test_a_refusal_of_the_head_is_one_line() -> None:
    refusal = "the Ray cluster at there refused: ValueError: no"
    with pytest.raises(ClusterRefused, match=f"^{refusal}$"), ray_client.translate_errors("there"):
        raise RuntimeError("Request failed with status code 500: Traceback:\n  File x\nValueError: no\n")
