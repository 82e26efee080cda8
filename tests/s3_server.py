"""An S3 server on loopback, for all tests of a session: it takes a second to start."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs

S3Place = Callable[[], str]
_KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.fixture(scope="session")
def s3_options() -> Iterator[str]:
    """What an s3:// URI needs to reach the server."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _KEYS.items():
            patch.setenv(name, value)
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        _, port = server.get_host_and_port()
        options = f"region=us-east-1&scheme=http&endpoint_override=127.0.0.1:{port}"
        store, _ = fs.FileSystem.from_uri(f"s3://tables?{options}&allow_bucket_creation=true")
        store.create_dir("tables")
        yield options
        server.stop()


@pytest.fixture
def s3_place(s3_options: str) -> S3Place:
    """Gives s3:// URIs of places in a bucket at which there is nothing yet."""
    return lambda: f"s3://tables/{next(_PLACES)}/thresholds?{s3_options}"


_PLACES = count()
