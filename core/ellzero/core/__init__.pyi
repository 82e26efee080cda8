from ellzero.core.conventions import CONVENTIONS as CONVENTIONS, Conventions as Conventions
from ellzero.core.errors import (
    EllzeroError as EllzeroError,
    Inconsistent as Inconsistent,
    InvalidInput as InvalidInput,
    MissingExtra as MissingExtra,
    Stopped as Stopped,
    StorageFailed as StorageFailed,
)

__version__: str
