"""What a model is given: scaled values, or levels."""

from enum import StrEnum

from ellzero.core.errors import InvalidInput


class Feed(StrEnum):
    """What a model is given: values scaled to [0, 1] as float32, or the levels themselves as int64, like tokens."""

    SCALED = "scaled"
    LEVELS = "levels"

    @classmethod
    def of(cls, name: "Feed | str") -> "Feed":
        """The feed of this name."""
        try:
            return cls(name)
        except ValueError:
            raise InvalidInput("feed", " or ".join(cls), name) from None
