"""What a model takes: values or levels."""

from enum import StrEnum

from ellzero.core.errors import InvalidInput


class Feed(StrEnum):
    """The inputs of a model: values scaled to [0, 1] as float32, or levels as int64, as for tokens."""

    SCALED = "scaled"
    LEVELS = "levels"

    @classmethod
    def of(cls, name: "Feed | str") -> "Feed":
        """The feed of this name."""
        try:
            return cls(name)
        except ValueError:
            raise InvalidInput("feed", " or ".join(cls), name) from None
