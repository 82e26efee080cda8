"""Numbers and durations as people say them."""


def format_duration(seconds: float) -> str:
    """About how long, in one unit: "2 minutes"."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return count_noun(round(seconds), "second")


def count_noun(number: int, noun: str) -> str:
    """A number of things: 1 shard, 2 shards."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
