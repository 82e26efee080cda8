"""Settings of hypothesis for every test: no deadlines, since machines are shared and noisy."""

from hypothesis import HealthCheck, settings

settings.register_profile("ellzero", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("ellzero")
