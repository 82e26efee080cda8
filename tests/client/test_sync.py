"""The synchronous client is the asynchronous one, without the waiting: generated, and up to date."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "generate_sync_client.py"


def test_the_synchronous_client_is_generated_from_the_asynchronous_one() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
