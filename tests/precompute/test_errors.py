"""The errors of precomputation reach the driver as they were raised."""

import pickle

from ellzero.core.errors import ClusterRefused, ClusterUnreachable
from ellzero.precompute.errors import NameTaken, UnknownJob


def test_errors_survive_pickling() -> None:
    errors = ClusterUnreachable("a"), ClusterRefused("a", "b"), UnknownJob("a", "b"), NameTaken("a", "b")
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
