"""Settings and fixtures for every test. No deadlines: machines are shared and noisy."""

import os
import signal

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is loaded, as ellzero.smoothing does it

from command_line import ellzero as ellzero
from hypothesis import HealthCheck, settings
from ray_fixture import ray_executor as ray_executor
from s3_server import s3_options as s3_options, s3_place as s3_place

# A shell that runs tests in the background may have them ignore Ctrl-C, and their child processes with them. A signal
# that is handled here is a child's default again.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ellzero", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("ellzero")
