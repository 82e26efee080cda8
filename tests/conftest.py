"""Settings and fixtures for every test. No deadlines: machines are shared and noisy."""

from command_line import ellzero as ellzero
from hypothesis import HealthCheck, settings
from s3_server import s3_options as s3_options, s3_place as s3_place

settings.register_profile("ellzero", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("ellzero")
