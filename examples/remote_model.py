"""Certify a model behind HTTP that fails now and then. `python examples/remote_model.py` runs it, on loopback."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from numpy.typing import NDArray

from ellzero.smoothing import MaskNoise, RemoteModel, SmoothedClassifier

HIDDEN = 5  # tokens are 0..4
TOKENS = [3, 3, 1, 3, 0, 3, 3, 2, 3, 3]
REQUESTS = count(1)


class SentimentHandler(BaseHTTPRequestHandler):
    """The model: class 1 if a text shows the token 3 at least once. Every seventh request fails."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps([int(3 in text) for text in texts]).encode()
        self.send_response(503 if next(REQUESTS) % 7 == 0 else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        """Say nothing of each request."""


def main() -> None:
    """Serve the model, and certify it as one would any other behind an address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), SentimentHandler)
    Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def call(samples: NDArray[Any]) -> Any:
        request = Request(address, json.dumps(samples.tolist()).encode())
        with urlopen(request, timeout=10) as response:  # a status of 503 raises, and the call is made again
            return json.load(response)

    model = RemoteModel(call, batch_size=32, concurrency=4, retries=9, timeout=10, backoff=0.01)
    classifier = SmoothedClassifier(model, MaskNoise(k=HIDDEN - 1, m="0.7"), num_classes=2, feed="levels")
    result = classifier.certify(np.array(TOKENS), n0=100, n=2_000, seed=1)
    print(f"class {result.prediction}, whatever {result.radius} of {result.d} tokens become")
    print(f"{result.drawn} votes for the certificate, in {next(REQUESTS) - 1} requests with those that failed")
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
