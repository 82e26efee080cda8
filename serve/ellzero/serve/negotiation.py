"""Which of the types on offer a caller prefers."""

from collections.abc import Sequence

from ellzero.serve.problems import Problem


def preferred(accept: str | None, offered: Sequence[str]) -> str:
    """The offered type with the highest quality in an Accept header, the first of equals; 406 if there is none."""
    if not accept:
        return offered[0]
    ranges = [_range(part) for part in accept.split(",")]
    best = max(offered, key=lambda kind: _quality(kind, ranges))
    if _quality(best, ranges) <= 0:
        raise Problem(406, f"available are {', '.join(offered)}", available=list(offered))
    return best


def _range(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        return kind, min(max(float(quality), 0.0), 1.0)
    except ValueError:
        return kind, 0.0


def _quality(kind: str, ranges: list[tuple[str, float]]) -> float:
    """The most specific range that covers the type decides."""
    for pattern in (kind, f"{kind.split('/')[0]}/*", "*/*"):
        matching = [quality for name, quality in ranges if name == pattern]
        if matching:
            return max(matching)
    return 0.0
