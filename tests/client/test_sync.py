"""The synchronous client is generated from the asynchronous one, and safe to share between threads."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ellzero.client import Client

SCRIPT = Path(__file__).parents[2] / "tools" / "generate_sync_client.py"


def test_the_synchronous_client_is_generated_from_the_asynchronous_one() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_many_threads_share_one_client(client: Client) -> None:
    def call(number: int) -> bool:
        return client.radius(f"{number}/1000", k=255, alpha="0.2", d=784).k == 255

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(call, range(1000)))
