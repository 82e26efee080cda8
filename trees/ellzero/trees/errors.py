"""The errors of trees.

The tree, below `ellzero.core.errors.EllzeroError`::

    TreesError
    ├── UnusableFeatures (ValueError)     features that are not 0 and 1, or not as many as the estimator was fitted on
    ├── UnusableLabels (ValueError)       labels that are not of two classes
    ├── UnusableTree (ValueError)         arrays that are no tree, or a tree that cannot be certified here
    ├── UnreadableFile (ValueError)       a file of data, or of a model, that cannot be used
    └── SearchTooLarge (ValueError)       an exact search beyond the limit of its cost

A single value outside its range is an `ellzero.core.errors.InvalidInput`. An estimator that is used before it was
fitted raises scikit-learn's own ``NotFittedError``. Constructors take positional arguments only, so that an error
survives pickling on its way back from a worker.
"""

from ellzero.core.errors import EllzeroError
from ellzero.core.text import escape_line, hide_credentials


class TreesError(EllzeroError):
    """Base of what can go wrong here."""


class _UnusableInput(TreesError, ValueError):
    """What was passed cannot be used, for this ``reason``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class UnusableFeatures(_UnusableInput):
    """The features cannot be used, for this ``reason``."""


class UnusableLabels(_UnusableInput):
    """The labels cannot be used, for this ``reason``."""


class UnusableTree(_UnusableInput):
    """The tree cannot be used, for this ``reason``."""


class UnreadableFile(TreesError, ValueError):
    """The file at ``place`` cannot be used, for this ``reason``."""

    def __init__(self, place: str, reason: str) -> None:
        place, reason = hide_credentials(place), hide_credentials(reason)
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return escape_line(f"{self.place} {self.reason}")


class SearchTooLarge(TreesError, ValueError):
    """An exact search would look at ``cost`` changed inputs, and the limit is ``limit``."""

    def __init__(self, cost: int, limit: int) -> None:
        super().__init__(cost, limit)
        self.cost = cost
        self.limit = limit

    def __str__(self) -> str:
        return f"the exact search looks at {self.cost:,} changed inputs, and the limit is {self.limit:,}"
