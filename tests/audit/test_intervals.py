"""An interval contains what it stands for, and is narrow."""

from fractions import Fraction
from math import comb, isqrt

from hypothesis import given, strategies as st

from ellzero.audit.intervals import BITS, PositiveInterval, enclose, enclose_binomial

POSITIVE = st.fractions(min_value=Fraction(1, 10**40), max_value=10**40).filter(bool)


def ends(interval: PositiveInterval) -> tuple[Fraction, Fraction]:
    unit = Fraction(2) ** interval.exponent
    return interval.low * unit, interval.high * unit


def check(interval: PositiveInterval, value: Fraction, bits: int = BITS - 20) -> None:
    low, high = ends(interval)
    assert 0 < low <= value <= high
    assert high - low <= value / 2**bits


@given(POSITIVE, POSITIVE, st.integers(0, 200))
def test_arithmetic_encloses_the_exact_result(a: Fraction, b: Fraction, count: int) -> None:
    check(enclose(a), a)
    check(enclose(a).times(enclose(b)), a * b)
    check(enclose(a).over(enclose(b)), a / b)
    check(enclose(a).power(count), a**count)


@given(POSITIVE)
def test_a_root_encloses_the_exact_one(a: Fraction) -> None:
    low, high = ends(enclose(a).root())
    assert low**2 <= a <= high**2
    assert high - low <= high / 2 ** (BITS - 20)


@given(POSITIVE, POSITIVE)
def test_comparisons_are_those_of_the_exact_numbers(a: Fraction, b: Fraction) -> None:
    assert enclose(a).is_below(b) is (a < b)
    assert enclose(a).is_above(b) is (a > b)
    exact = Fraction(isqrt(int(a) + 1) + 1)
    assert not enclose(exact).is_below(exact)
    assert not enclose(exact).is_above(exact)


@given(st.integers(0, 60_000), st.data())
def test_binomial_coefficients_are_enclosed(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    check(enclose_binomial(n, k), Fraction(comb(n, k)), 100)
