"""The errors of smoothing: models, data sets, results.

The tree, below `ellzero.core.errors.EllzeroError`::

    SmoothingError
    ├── ModelFailed (RuntimeError)        the model raised an error, or its output cannot be used as votes
    │   └── OutOfMemory (MemoryError)     not even one sample fits
    ├── NoSuchDevice (RuntimeError)       a device that this machine does not have
    ├── Diverged (ArithmeticError)        training whose loss is not a number any more
    ├── SchedulerFull, SchedulerClosed    too many open inputs; a scheduler that is shutting down
    ├── UnknownModel (LookupError)        no model, or no architecture, has this name
    ├── BadModelFile (ValueError)         a file that is not a model of ellzero, or cannot be used
    ├── BadCalibration (ValueError)       a calibration of conformal sets that is for something else
    └── BadData (ValueError)              a data set that cannot be read

Constructors take positional arguments only, so that an error survives pickling on its way back from a worker.
"""

from ellzero.core.errors import EllzeroError
from ellzero.core.text import escape_line, hide_credentials


class SmoothingError(EllzeroError):
    """Base of all errors of smoothing."""


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
    """In ``epoch`` the loss became NaN or infinite, at the learning rate ``rate``."""

    def __init__(self, epoch: int, rate: float) -> None:
        super().__init__(epoch, rate)
        self.epoch = epoch
        self.rate = rate

    def __str__(self) -> str:
        return f"training diverged in epoch {self.epoch}: its loss is not a number; a rate below {self.rate:g} may help"


class SchedulerFull(SmoothingError):
    """``open`` inputs are in progress, and the limit is ``most``."""

    def __init__(self, open_tasks: int, most: int) -> None:
        super().__init__(open_tasks, most)
        self.open = open_tasks
        self.most = most

    def __str__(self) -> str:
        return f"{self.open} inputs are in progress, and the limit is {self.most}"


class SchedulerClosed(SmoothingError):
    """The scheduler accepts no more tasks."""

    def __str__(self) -> str:
        return "the scheduler accepts no more tasks"


class UnknownModel(SmoothingError, LookupError):
    """No ``what`` is called ``name``; ``available`` are the names that exist."""

    def __init__(self, what: str, name: str, available: tuple[str, ...]) -> None:
        super().__init__(what, name, available)
        self.what = what
        self.name = name
        self.available = available

    def __str__(self) -> str:
        names = ", ".join(self.available)
        choice = f"{'the only one is' if len(self.available) == 1 else 'there are'} {names or 'none'}"
        return escape_line(f"no {self.what} is called {self.name[:120]}; {choice}")


class _Unusable(SmoothingError, ValueError):
    """The file or folder at ``place`` cannot be used, because of ``reason``."""

    def __init__(self, place: str, reason: str) -> None:
        place, reason = hide_credentials(place), hide_credentials(reason)
        super().__init__(place, reason)
        self.place = place
        self.reason = reason

    def __str__(self) -> str:
        return escape_line(f"{self.place} {self.reason}")


class BadModelFile(_Unusable):
    """The file at ``place`` cannot be used as a model, because of ``reason``."""


class BadData(_Unusable):
    """The data set at ``place`` cannot be read, because of ``reason``."""


class BadCalibration(_Unusable):
    """The calibration at ``place`` cannot be used, because of ``reason``."""


class SmallCalibrationWarning(UserWarning):
    """Too few inputs for the error: every conformal set will have all classes."""


class UnreachableRadiusWarning(UserWarning):
    """No votes can certify a radius of 1 with this noise, n and failure probability."""
