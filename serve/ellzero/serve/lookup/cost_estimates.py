"""Estimates of how long work on demand will take. They may refuse work; they never decide a result."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import Discrete, Votes, saturation_bound
from ellzero.certificates.exact_thresholds import estimate_radii, radius_bound
from ellzero.certificates.votes import guess_lower_bound
from ellzero.core.numbers import read_probability
from ellzero.serve.lookup.written_numbers import Enclosure
from ellzero.serve.platform.field_types import Exact
from ellzero.tables.format.rows import DIGITS

# Seconds on a machine of 2026; docs/benchmarks.md describes the measurement.
_SECONDS_PER_ROW = 7e-6
_SECONDS_PER_ROW_SENT = 3e-6
_SECONDS_PER_TWO_CLASS_RADIUS = 5e-5
_SECONDS_PER_TAIL = 1e-3
_SECONDS_PER_NUMBER = 2e-5
_SECONDS_PER_PLAN = 1.0
_HALF = Fraction(1, 2)
_ZERO = Fraction(0)
_LAST_ROW = 1 - Fraction(1, 10**DIGITS)  # rows end where thresholds round up to 1


class Demand(NamedTuple):
    """Of a batch: its largest probability below 1, how many are looked up one by one, how many lie beyond all rows."""

    reach: Fraction
    written: int = 0
    beyond: int = 0


def guess_p(votes: Votes) -> Fraction:
    """Return approximately the largest p that votes prove."""
    return Fraction(guess_lower_bound(votes))


def measure_demand(values: Sequence[Exact], enclosure: Enclosure | None) -> Demand:
    """Return the demand of numbers in JSON: those that doubles do not enclose are looked up one by one."""
    reach = _ZERO
    if enclosure is not None:
        inside = enclosure.inside
        if inside.any():
            reach = measure_array_demand(enclosure.high[inside]).reach
        values = [values[place] for place in np.flatnonzero(~inside).tolist()]
    numbers = {read_probability(value, "p") for value in set(values)} - {Fraction(1)}
    return Demand(max({reach, *numbers}), len(values), sum(number > _LAST_ROW for number in numbers))


def measure_array_demand(values: NDArray[Any]) -> Demand:
    """Return the demand of an array; values outside of [0, 1] are refused later."""
    largest = float(values.max())
    if not 0 < largest < 1:
        below = values[(values > 0.0) & (values < 1.0)]
        largest = float(below.max()) if below.size else 0.0
    return Demand(Fraction(largest))


def find_smallest_p_b(others: list[Exact]) -> Fraction:
    """Return the least p_b above 0: a class of probability 0 costs nothing."""
    bounds = {read_probability(other, "p_b") for other in set(others)}
    return min((bound for bound in bounds if bound > 0), default=Fraction(1))


def radius_seconds(noise: Discrete, p: Fraction, d: int) -> float:
    """Estimate the time to find the radius of p by computing all thresholds up to it."""
    return _count_radii(noise, 1 - p, d) * _SECONDS_PER_ROW if p > _HALF else 0.0


def two_class_seconds(noise: Discrete, room: Fraction, d: int) -> float:
    """Estimate the time for p against p_b; room = min(p_b, 1 − p). The radius is at most that of 1 − room alone."""
    return _count_radii(noise, room, d) * _SECONDS_PER_TWO_CLASS_RADIUS + _SECONDS_PER_NUMBER


def counts_seconds(noise: Discrete, distinct: int, p: Fraction, d: int) -> float:
    """Estimate the time for so many distinct counts, the largest of which proves about p."""
    return min(distinct, _count_radii(noise, 1 - p, d) + 1) * 2 * _SECONDS_PER_TAIL + radius_seconds(noise, p, d)


def check_seconds(noise: Discrete, n: int, failure: Fraction, d: int, runner_up: bool) -> float:
    """Estimate the longest time of one check of what votes certify: radii up to that of n equal votes, by bisection.

    All other votes for the model wait meanwhile. The number of checks only makes a job longer, which is allowed.
    """
    reach = Fraction(guess_lower_bound(Votes(n, n, failure)))
    if runner_up:
        return 2 * two_class_seconds(noise, 1 - reach, d)
    return 2 * n.bit_length() * radius_seconds(noise, reach, d)


def numbers_seconds(numbers: int) -> float:
    """Estimate the time to look up exact numbers one by one."""
    return numbers * _SECONDS_PER_NUMBER


def column_seconds(noise: Discrete, r_max: int | None) -> float:
    """Estimate the time to compute a column."""
    return estimate_rows(noise, r_max) * _SECONDS_PER_ROW


def sending_seconds(noise: Discrete, r_max: int | None) -> float:
    """Estimate the time to send a column."""
    return estimate_rows(noise, r_max) * _SECONDS_PER_ROW_SENT


def planning_seconds() -> float:
    """Estimate the time to find the least number of votes for a threshold."""
    return _SECONDS_PER_PLAN


def plan_seconds(noise: Discrete, r: int) -> float:
    """Estimate the time to find the least number of votes for a radius."""
    return planning_seconds() + min(r, estimate_radii(saturation_bound(noise, 20))) * _SECONDS_PER_TWO_CLASS_RADIUS


def estimate_rows(noise: Discrete, r_max: int | None) -> int:
    """Estimate how many rows a column has."""
    most = estimate_radii(saturation_bound(noise, 20))
    return most if r_max is None else min(most, r_max + 1)


def _count_radii(noise: Discrete, room: Fraction, d: int) -> int:
    """Estimate how many radii have 1 − τ_r > room."""
    return min(d, estimate_radii(radius_bound(noise, room))) if room > 0 else 0
