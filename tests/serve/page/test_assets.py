"""The files of the page, as the service sends them."""

import gzip
import hashlib
from urllib.request import Request, urlopen

import pytest
from starlette.testclient import TestClient

from ellzero.serve.page.assets import VENDOR


def test_swagger_ui_is_the_pinned_one() -> None:
    digests = {}
    for line in (VENDOR / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        digests[name] = digest
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    del files["SHA256SUMS"]
    assert files == digests


def test_the_docs_are_served_from_the_tree(client: TestClient) -> None:
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert client.get(f"/assets/{name}").content == (VENDOR / name).read_bytes()


@pytest.mark.parametrize(
    ("accept", "compressed"),
    [
        ("gzip, deflate, br", True),
        ("GZIP;q=0.5", True),
        ("br, *", True),
        ("gzip;q=0", False),
        ("*, gzip; q=0.000", False),
        ("*;q=0", False),
        ("gzip;q=much", False),
        ("notgzip", False),
        ("identity", False),
    ],
)
def test_files_are_compressed_for_clients_that_accept_it(service: str, accept: str, compressed: bool) -> None:
    with urlopen(Request(f"{service}/assets/main.js", headers={"accept-encoding": accept})) as response:
        body = response.read()
    assert response.headers["content-encoding"] == ("gzip" if compressed else None)
    assert (gzip.decompress(body) if compressed else body).startswith(b"// The page")
