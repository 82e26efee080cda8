"""The errors of smoothing: models, data sets, results.

The tree, below `ellzero.core.errors.EllzeroError`::

    SmoothingError
    ├── ModelFailed (RuntimeError)        the model raised an error, or its output is no vote
    │   └── OutOfMemory (MemoryError)     not even one sample fits
    ├── NoSuchDevice (RuntimeError)       a device this machine does not have
    ├── Diverged (ArithmeticError)         training whose loss is no longer a number
    ├── SchedulerFull, SchedulerClosed              too many open inputs; a scheduler that is shutting down
    ├── UnknownModel (LookupError)        no model, or no architecture, of this name
    ├── BadModelFile (ValueError)         a file that holds no model of ours
    ├── BadData (ValueError)              a data set that cannot be read
    └── BadResults (ValueError)           results that do not belong to the run, or cannot be read

Constructors take positional arguments only, so that an error survives pickling on its way back from a worker.
"""

import re

from ellzero.core.errors import EllzeroError
from ellzero.core.text import escape_line

_SECRET = re.compile(r"(?<=://)[^/@]*@")


class SmoothingError(EllzeroError):
    """Base of what can go wrong here."""


class ModelFailed(SmoothingError, RuntimeError):
    """The model could not vote, because of ``reason``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"the model {self.reason}"


class OutOfMemory(ModelFailed, MemoryError):
    """Not even one sample fits into the memory of ``device``."""

    def __init__(self, device: str) -> None:
        super().__init__(device)
        self.device = device

    def __str__(self) -> str:
        return f"the model ran out of memory on {self.device} with a single sample"


class NoSuchDevice(SmoothingError, RuntimeError):
    """``device`` cannot be used, because of ``reason``."""

    def __init__(self, device: str, reason: str) -> None:
        super().__init__(device, reason)
        self.device = device
        self.reason = reason

    def __str__(self) -> str:
        return f"device {self.device} cannot be used: {self.reason}"


class Diverged(SmoothingError, ArithmeticError):
    """In ``epoch`` the loss ceased to be a number, with the learning rate ``rate``."""

    def __init__(self, epoch: int, rate: float) -> None:
        super().__init__(epoch, rate)
        self.epoch = epoch
        self.rate = rate

    def __str__(self) -> str:
        return f"training diverged in epoch {self.epoch}: its loss is no number; a rate below {self.rate:g} may help"


class SchedulerFull(SmoothingError):
    """``open`` inputs are in progress, and the limit is ``most``."""

    def __init__(self, open_tasks: int, most: int) -> None:
        super().__init__(open_tasks, most)
        self.open = open_tasks
        self.most = most

    def __str__(self) -> str:
        return f"{self.open} inputs are in progress, and the limit is {self.most}"


class SchedulerClosed(SmoothingError):
    """The scheduler takes no more tasks."""

    def __str__(self) -> str:
        return "no more votes are taken"


class UnknownModel(SmoothingError, LookupError):
    """Nothing is called ``name``; ``known`` are."""

    def __init__(self, what: str, name: str, known: tuple[str, ...]) -> None:
        super().__init__(what, name, known)
        self.what = what
        self.name = name
        self.known = known

    def __str__(self) -> str:
        there = f"there are {', '.join(self.known)}" if self.known else "there are none"
        return escape_line(f"no {self.what} is called {self.name[:120]}; {there}")


class _Unusable(SmoothingError, ValueError):
    """What lies at ``place`` cannot be used, because of ``reason``."""

    def __init__(self, place: str, reason: str) -> None:
        place, reason = _SECRET.sub("", place), _SECRET.sub("", reason)
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return escape_line(f"{self.place} {self.reason}")


class BadModelFile(_Unusable):
    """The file at ``place`` holds no model of ours, because of ``reason``."""


class BadData(_Unusable):
    """The data set at ``place`` cannot be read, because of ``reason``."""


class BadResults(_Unusable):
    """The results at ``place`` cannot be used, because of ``reason``, which is shown in full."""

    def __str__(self) -> str:
        return escape_line(f"{self.place} {self.reason}", 20_000)


class UnreachableRadiusWarning(UserWarning):
    """No votes can certify a radius of 1 with this noise, n and failure probability."""
