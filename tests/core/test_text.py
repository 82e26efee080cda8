"""Durations and measured times as text."""

import pytest

from ellzero.core.text import format_duration, format_seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 µs"),
        (3.14e-6, "3.14 µs"),
        (0.000962, "962 µs"),
        (0.0352, "35.2 ms"),
        (1.2, "1.20 s"),
        (67.31, "67.3 s"),
        (343.6, "344 s"),
        (705, "12 minutes"),
        (90_000, "25 hours"),
    ],
)
def test_measured_times_have_three_digits_and_long_ones_a_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 seconds"), (1, "1 second"), (119, "119 seconds"), (120, "2 minutes"), (400_000, "5 days")],
)
def test_durations_are_rounded_to_one_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
