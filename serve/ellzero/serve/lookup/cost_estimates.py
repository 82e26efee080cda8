"""About how long work on demand takes, before it starts. Estimates only: they refuse work, they decide no result."""

from fractions import Fraction

from ellzero.certificates import Noise, Votes, saturation_bound
from ellzero.certificates.exact_thresholds import estimate_radii, radius_bound
from ellzero.certificates.votes import likely_lower_bound

# Seconds on a machine of 2026; docs/benchmarks.md tells how the like are measured.
_A_ROW = 7e-6
_A_ROW_SENT = 3e-6
_A_RADIUS_OF_TWO_CLASSES = 5e-5
_A_TAIL = 1e-3
_A_NUMBER = 2e-5
_A_PLAN = 1.0
_HALF = Fraction(1, 2)


def walk_seconds(noise: Noise, p: Fraction, d: int) -> float:
    """To find the radius of p by going through all smaller ones."""
    return _radii(noise, 1 - p, d) * _A_ROW if p > _HALF else 0.0


def two_class_seconds(noise: Noise, room: Fraction, d: int) -> float:
    """To find the radius of p against p_b, room = min(p_b, 1 − p): no larger than the radius of 1 − room alone."""
    return _radii(noise, room, d) * _A_RADIUS_OF_TWO_CLASSES + _A_NUMBER


def counts_seconds(noise: Noise, distinct: int, p: Fraction, d: int) -> float:
    """To find the radii of so many distinct counts, the largest of which speaks for p."""
    return min(distinct, _radii(noise, 1 - p, d) + 1) * 2 * _A_TAIL + walk_seconds(noise, p, d)


def look_seconds(noise: Noise, n: int, failure: Fraction, d: int, runner_up: bool) -> float:
    """To look once what votes certify, at most: radii up to that of n unanimous ones, by bisection of counts.

    Others wait for their votes meanwhile. How many looks there are only makes a job long, which it may be.
    """
    reach = Fraction(likely_lower_bound(Votes(n, n, failure)))
    if runner_up:
        return 2 * two_class_seconds(noise, 1 - reach, d)
    return 2 * n.bit_length() * walk_seconds(noise, reach, d)


def numbers_seconds(numbers: int) -> float:
    """To look exact numbers up one by one."""
    return numbers * _A_NUMBER


def column_seconds(noise: Noise, r_max: int | None) -> float:
    """To compute a column."""
    return rows(noise, r_max) * _A_ROW


def sending_seconds(noise: Noise, r_max: int | None) -> float:
    """To send a column."""
    return rows(noise, r_max) * _A_ROW_SENT


def plan_seconds(noise: Noise, r: int) -> float:
    """To find the least number of votes for a radius."""
    return _A_PLAN + min(r, estimate_radii(saturation_bound(noise, 20))) * _A_RADIUS_OF_TWO_CLASSES


def rows(noise: Noise, r_max: int | None) -> int:
    """About how many rows a column has."""
    most = estimate_radii(saturation_bound(noise, 20))
    return most if r_max is None else min(most, r_max + 1)


def _radii(noise: Noise, room: Fraction, d: int) -> int:
    """About how many radii have 1 − τ_r > room."""
    return min(d, estimate_radii(radius_bound(noise, room))) if room > 0 else 0
