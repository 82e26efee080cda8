"""Numbers, durations and errors as text for people."""

import re

_SECRET = re.compile(r"(?<=://)[^/@]*@")


def format_duration(seconds: float) -> str:
    """A duration rounded to one unit: "2 minutes"."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return count_noun(round(seconds), "second")


def format_seconds(seconds: float) -> str:
    """A measured time to three significant digits: "35.2 µs", "1.20 s"; from ten minutes on as `format_duration`."""
    if seconds >= 600:
        return format_duration(seconds)
    unit, size = next((each for each in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= each[1]), ("µs", 1e-6))
    number = seconds / size
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f} {unit}"


def count_noun(number: int, noun: str) -> str:
    """A number of things: 1 shard, 2 shards."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def escape_line(text: str, limit: int = 500) -> str:
    """The first ``limit`` characters of foreign text, with line breaks and control characters as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text[:limit])


def first_line(error: BaseException) -> str:
    """The first line of an error's message; its class name if the message is empty."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def hide_credentials(text: str) -> str:
    """The text without the user names and passwords of its URIs."""
    return _SECRET.sub("", text)
