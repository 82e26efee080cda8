"""From a model to a certified radius: exact noise, votes, smoothed prediction. Torch is for torch models alone."""

import os

# Before torch is loaded: threads that spin while they wait make small models ten times slower on a machine with
# other work. A value that the user has set stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from ellzero.core.lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__, extra="predict")
