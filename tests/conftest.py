"""Settings and fixtures for every test. No deadlines: machines are shared and noisy."""

from command_line import ellzero as ellzero
from hypothesis import HealthCheck, settings

settings.register_profile("ellzero", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("ellzero")
