"""Settings and fixtures for every test. No deadlines: machines are shared and noisy."""

import os
import signal

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as ellzero.smoothing does it

import pytest
from command_line import ellzero as ellzero
from hypothesis import HealthCheck, settings
from ray_fixture import ray_executor as ray_executor
from s3_server import s3_options as s3_options, s3_place as s3_place

# A shell that runs tests in the background may have them ignore Ctrl-C, and their child processes with them. A signal
# that is handled here is a child's default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

# In CI the same code is tried on the same examples each time: a change is not refused for a rare case of other code.
settings.register_profile(
    "ellzero",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize="CI" in os.environ,
)
settings.load_profile("ellzero")

LONGEST_FILES = (
    "docker/test_running.py",
    "cli/test_submit.py",
    "test_docs.py",
    "cli/test_certify.py",
    "experiments/test_mnist.py",
    "smoothing/test_guarantee.py",
    "serve/page/test_runs.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take minutes come first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(LONGEST_FILES))
