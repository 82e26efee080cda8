"""What a column will cost, before it is computed: its rows, its seconds and its bytes.

Estimates only, in floats: they spread work evenly and tell people what to expect. No result depends on them.
"""

import time
from math import ceil, log, pi, sqrt
from typing import NamedTuple

from ellzero.certificates import Discrete
from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.tables.format.rows import DIGITS, RowBuffer

# Measured on the table that ships: zstd leaves a threshold and its double 11 bytes, and a column a line in the footer.
_BYTES_A_ROW = 11.0
_BYTES_A_COLUMN = 45.0
_LONG, _SHORT = Discrete(255, "0.02"), Discrete(255, "0.9")
_LONG_ROWS, _SHORT_CALLS = 1_000, 20


class CostModel(NamedTuple):
    """The seconds that a column takes to begin, and for each row, whatever the radius."""

    column_seconds: float
    row_seconds: float

    def seconds(self, rows: int) -> float:
        """What a column of so many rows takes."""
        return self.column_seconds + rows * self.row_seconds


# What a machine of 2026 takes: tasks are cut by this one, so that their cut does not depend on the day's timing.
NOMINAL = CostModel(5e-5, 7e-6)


def calibrate_cost_model() -> CostModel:
    """The model for this machine, from a hundredth of a second of the engine's real work."""
    row_seconds = min(_seconds(_LONG, _LONG_ROWS) for _ in range(3)) / _LONG_ROWS
    short = min(sum(_seconds(_SHORT, 6) for _ in range(_SHORT_CALLS)) for _ in range(3)) / _SHORT_CALLS
    return CostModel(max(0.0, short - 7 * row_seconds), row_seconds)


def expected_rows(noise: Discrete, r_end: int) -> int:
    """About how many rows a column has: to r_end, or to saturation if that comes first.

    1 − τ_r is about P[S_r ≤ −E S_r] for the sum S_r of r steps +1, 0, −1 with weights a, m, b: e^(−rI)/(θ√(2πrv)), with
    the rate I, the tilt θ and the tilted variance v of large deviations. Saturation is where that falls below 10^-20.
    """
    most = r_end + 1
    if noise.is_flat:
        return 1
    a, m, b, z = (float(weight) for weight in noise.weights.descending)
    mean, rest = (a - b) / z, (m + 2 * b) / z  # μ and 1−μ
    # e^(−θ) solves a(1+μ)y² + μm·y − b(1−μ) = 0, in the form that does not cancel.
    half = mean * m / 2
    y = b * rest / (half + sqrt(half * half + a * (1 + mean) * b * rest))
    mass = a * y + m + b / y
    rate = -log(mass / z) - mean * log(y)
    variance = max((a * y + b / y) / mass - mean * mean, 1e-30)
    if rate <= 0:
        return most
    goal = DIGITS * log(10)
    rows = goal / rate
    for _ in range(20):
        rows = max(1.0, (goal - log(max(-log(y) * sqrt(2 * pi * rows * variance), 1.0))) / rate)
    return min(most, ceil(rows) + 2)


def expected_bytes(columns: int, rows: int) -> int:
    """About how large the shards are."""
    return int(columns * _BYTES_A_COLUMN + rows * _BYTES_A_ROW)


def _seconds(noise: Discrete, r_end: int) -> float:
    start = time.perf_counter()
    buffer = RowBuffer()
    for row in iter_column_rows(noise, r_end):
        buffer.add(row)
    return time.perf_counter() - start
