"""Content negotiation: which of the available types and encodings a client accepts."""

from collections.abc import Sequence

from ellzero.serve.platform.problems import HttpProblem


def choose_media_type(accept: str | None, offered: Sequence[str]) -> str:
    """Return the offered type of highest quality in an Accept header, the first of equals; 406 if none is accepted."""
    if not accept:
        return offered[0]
    ranges = [_range(part) for part in accept.split(",")]
    best = max(offered, key=lambda kind: _quality_of_type(kind, ranges))
    if _quality_of_type(best, ranges) <= 0:
        raise HttpProblem(406, f"this route offers {', '.join(offered)}", available=list(offered))
    return best


def takes_coding(accept: str, coding: str) -> bool:
    """Return whether an Accept-Encoding header allows a coding, by name or by "*"; a quality of 0 refuses it."""
    return _quality((coding, "*"), [_range(part) for part in accept.split(",")]) > 0


def _range(part: str) -> tuple[str, float]:
    kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
    quality = next((text[2:] for text in parameters if text.startswith("q=")), "1")
    try:
        return kind, min(max(float(quality), 0.0), 1.0)
    except ValueError:
        return kind, 0.0


def _quality_of_type(kind: str, ranges: list[tuple[str, float]]) -> float:
    return _quality((kind, f"{kind.split('/')[0]}/*", "*/*"), ranges)


def _quality(patterns: Sequence[str], ranges: list[tuple[str, float]]) -> float:
    """The first pattern that the header has, the most specific, decides."""
    for pattern in patterns:
        matching = [quality for name, quality in ranges if name == pattern]
        if matching:
            return max(matching)
    return 0.0
