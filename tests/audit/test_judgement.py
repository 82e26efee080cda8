"""Claimed radii are proved, loose or not proved as exact arithmetic says, however close they are to a threshold."""

from dataclasses import replace
from fractions import Fraction
from math import nextafter

import pytest
from hypothesis import given, strategies as st
from oracles.strategies import noises

from ellzero.audit.claimed_radii import ClaimedRadius
from ellzero.audit.judgement import JudgedRadius, Verdict, count_changes, judge, measure_l2
from ellzero.certificates import (
    Discrete,
    Sparse,
    Votes,
    certified_from_votes,
    gaussian_l2_radius,
    lower_bound,
    min_count,
    rho_inverse,
)
from ellzero.certificates.families.composed import Total

BITS = Discrete(1, "11/20")
FAILURE = Fraction(1, 1_000)


def claim(
    radius: str | None, count: int | None = None, p: Fraction | None = None, n: int | None = None
) -> ClaimedRadius:
    unit = Fraction(1, 10 ** len(radius.partition(".")[2])) if radius else Fraction(1)
    return ClaimedRadius("0", Fraction(radius) if radius else None, unit, count, n, p)


def judge_one(
    one: ClaimedRadius, noise: Discrete = BITS, n: int | None = 1_000, d: int = 50, **options: int
) -> JudgedRadius:
    exact, mean = count_changes(noise, d, options.get("channels", 1), bool(options.get("below", 0)))
    (judged,) = judge([one], exact, mean, n, FAILURE)
    return judged


@given(noises(max_k=10), st.integers(1, 4), st.integers(0, 6))
def test_a_p_just_above_a_threshold_proves_the_radius_and_one_at_it_does_not(
    noise: Discrete, r: int, claimed: int
) -> None:
    """What a double or a comparison of doubles gets wrong: claims at the threshold itself."""
    tau = rho_inverse(noise, r, "1/2")
    at, above = (judge_one(claim(str(claimed), p=p), noise) for p in (tau, tau + Fraction(1, 10**40)))
    exact = certified_radius(noise, tau)
    assert at.exact == exact
    assert exact is None or exact < r or noise.is_flat
    assert above.exact is not None
    assert above.exact >= r
    for judged in (at, above):
        expected = -1 if judged.exact is None else judged.exact
        verdict = Verdict.PROVED if claimed == expected else Verdict.LOOSE if claimed < expected else Verdict.NOT_PROVED
        assert judged.verdict is verdict


def certified_radius(noise: Discrete, p: Fraction) -> int | None:
    """By all thresholds, one after the other."""
    radii = [r for r in range(51) if p > rho_inverse(noise, r, "1/2")]
    return max(radii, default=None)


def test_one_vote_decides() -> None:
    least = min_count(BITS, 3, 1_000, FAILURE)
    assert least is not None
    assert judge_one(claim("3", least)).verdict is Verdict.PROVED
    assert judge_one(claim("3", least - 1)).verdict is Verdict.NOT_PROVED
    assert judge_one(claim("3.0", least)).verdict is Verdict.PROVED
    assert judge_one(claim("2", least)).verdict is Verdict.LOOSE
    assert judge_one(claim("3", least, n=2_000)).verdict is Verdict.NOT_PROVED, "a row's own n comes first"
    assert judge_one(claim("0", 400)).exact is None
    assert judge_one(claim(None, 400)).verdict is Verdict.ABSTAINED


def test_conventions_shift_what_is_claimed() -> None:
    least = min_count(BITS, 6, 1_000, FAILURE)
    assert judge_one(claim("7", least), below=1).verdict is Verdict.PROVED
    assert judge_one(claim("6.5", least), below=1).verdict is Verdict.PROVED
    assert judge_one(claim("8", least), below=1).verdict is Verdict.NOT_PROVED
    assert judge_one(claim("2", least), channels=3).verdict is Verdict.PROVED
    assert judge_one(claim("3", least), channels=3).verdict is Verdict.NOT_PROVED


def test_without_votes_and_p_only_what_unanimous_votes_cannot_show_is_refuted() -> None:
    most = certified_from_votes(BITS, Votes(1_000, 1_000, FAILURE), 50)
    assert isinstance(most, int)
    assert judge_one(claim(str(most))).verdict is Verdict.CANNOT_BE_JUDGED
    assert judge_one(claim(str(most + 1))).verdict is Verdict.NOT_PROVED
    assert judge_one(claim(str(most + 1)), n=None).verdict is Verdict.CANNOT_BE_JUDGED


def test_kinds_of_change_are_counted_together() -> None:
    family, votes = Sparse("1/50", "3/5"), Votes(990, 1_000, FAILURE)
    exact, _ = count_changes(family, 50, 1, below=False)
    assert exact(votes) == certified_from_votes(Total(family), votes, 50)


@pytest.mark.parametrize(("p", "verdict"), [("0.9", Verdict.NOT_PROVED), ("1", Verdict.LOOSE)])
def test_l2_radii_beyond_all_doubles_are_judged_too(p: str, verdict: Verdict) -> None:
    exact, mean = measure_l2(Fraction(1, 2))
    (judged,) = judge([replace(claim("1e400"), count=None, p=Fraction(p))], exact, mean, 1_000, FAILURE)
    assert judged.verdict is verdict


@pytest.mark.parametrize("count", [600, 900, 999, 1_000])
def test_l2_radii_are_judged_by_the_digits_that_they_have(count: int) -> None:
    sigma = Fraction(1, 2)
    radius = gaussian_l2_radius(sigma, lower_bound(Votes(count, 1_000, FAILURE)))
    assert radius is not None
    exact, mean = measure_l2(sigma)

    def verdict(text: str) -> JudgedRadius:
        (judged,) = judge([claim(text, count)], exact, mean, 1_000, FAILURE)
        return judged

    below, above = f"{radius - 0.0005:.3f}", f"{radius + 0.0005:.3f}"
    assert verdict(below).verdict is Verdict.PROVED
    assert verdict(above).verdict is Verdict.NOT_PROVED
    assert verdict(above).within_rounding is (Fraction(above) - Fraction(radius) <= Fraction(1, 2_000))
    assert verdict(f"{radius * 0.9:.3f}").verdict is Verdict.LOOSE
    assert verdict(repr(radius)).verdict is Verdict.PROVED
    assert verdict(repr(nextafter(radius, 9))).verdict is Verdict.NOT_PROVED
