"""Reading the numbers that callers write exactly, with one clear message for what is not a number in its range."""

import operator
import re
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from typing import TypeAlias

from ellzero.core.errors import InvalidInput

RationalLike: TypeAlias = str | int | float | Fraction | Decimal

# Longer text or larger exponents could exhaust memory while the fraction is built.
_MAX_TEXT = 4_000
_MAX_EXPONENT = 4_000
_NUMBER = re.compile(r"[+-]?(\d+/\d+|(\d+\.?\d*|\.\d+)([eE][+-]?(?P<exponent>\d{1,9}))?)", re.ASCII)
# The usual form, read at once: Fraction would match it against a slower pattern of its own.
_DECIMAL = re.compile(r"(?P<whole>\d{1,40})\.(?P<digits>\d{1,40})", re.ASCII)

MAX_DIMENSION = 2**31 - 1
MAX_DIGITS = 1_000
# The caller's own context might round.
_EXACT = Context(prec=4 * MAX_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact])


def read_integer(value: object, field: str, low: int, high: int | None = None) -> int:
    """``value`` as an int in ``low..high``; True, 1.0 and "1" are not integers."""
    allowed = f"an integer from {low} to {high}" if high is not None else f"an integer of at least {low}"
    if isinstance(value, bool):
        raise InvalidInput(field, allowed, value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidInput(field, allowed, value) from None
    if number < low or (high is not None and number > high):
        raise InvalidInput(field, allowed, value)
    return number


def read_dimension(value: object) -> int:
    """``value`` as a number of coordinates d."""
    return read_integer(value, "d", 1, MAX_DIMENSION)


def read_digits(value: object) -> int:
    """``value`` as a number of decimal digits, from 1 to 1000."""
    return read_integer(value, "digits", 1, MAX_DIGITS)


def scaled_decimal(units: int, digits: int) -> Decimal:
    """units·10^-digits, exact, with all its digits."""
    return Decimal(units).scaleb(-digits, _EXACT)


def read_exact(value: object, field: str, allowed: str) -> Fraction:
    """``value`` as a rational; a float of any width counts as its exact binary value."""
    if type(value) is str:
        return _parse(value, field, allowed)
    if isinstance(value, Rational) or not isinstance(value, Real):
        return read_shortest(value, field, allowed)
    try:
        numerator, denominator = value.as_integer_ratio()  # type: ignore[attr-defined]
    except (AttributeError, OverflowError, ValueError):  # no binary number, an infinity, NaN
        raise InvalidInput(field, allowed, value) from None
    return Fraction(int(numerator), int(denominator))


def read_shortest(value: object, field: str, allowed: str) -> Fraction:
    """``value`` as the rational it was written as; a float counts as its shortest decimal (0.1 is 1/10)."""
    if isinstance(value, bool):
        raise InvalidInput(field, allowed, value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, float) and isfinite(value):
        return _parse(float.__repr__(value), field, allowed)
    if isinstance(value, Decimal):
        if not value.is_finite() or abs(value.adjusted()) > _MAX_EXPONENT:
            raise InvalidInput(field, allowed, value)
        return Fraction(value)
    if isinstance(value, str):
        return _parse(value, field, allowed)
    if isinstance(value, Real) and not isinstance(value, float):  # numpy's float32 and so on, as they print
        return _parse(str(value), field, allowed)
    raise InvalidInput(field, allowed, value)


def read_probability(value: object, field: str) -> Fraction:
    """``value`` as an exact rational in [0, 1]; a float counts as its exact binary value."""
    allowed = "a number from 0 to 1"
    number = read_exact(value, field, allowed)
    if not 0 <= number.numerator <= number.denominator:
        raise InvalidInput(field, allowed, value)
    return number


def read_failure(value: object, field: str = "failure") -> Fraction:
    """``value`` as an exact rational strictly between 0 and 1; a float counts as its shortest decimal."""
    allowed = "a number strictly between 0 and 1"
    number = read_shortest(value, field, allowed)
    if not 0 < number < 1:
        raise InvalidInput(field, allowed, value)
    return number


def read_positive(value: object, field: str) -> Fraction:
    """``value`` as an exact rational above 0; a float counts as its exact binary value."""
    allowed = "a finite number above 0"
    number = read_exact(value, field, allowed)
    if number <= 0:
        raise InvalidInput(field, allowed, value)
    return number


def _parse(text: str, field: str, allowed: str) -> Fraction:
    plain = _DECIMAL.fullmatch(text)
    if plain is not None:
        whole, digits = plain.groups()
        return Fraction(int(whole + digits), 10 ** len(digits))
    stripped = text.strip()
    number = _NUMBER.fullmatch(stripped) if len(stripped) <= _MAX_TEXT else None
    if number is None or int(number["exponent"] or 0) > _MAX_EXPONENT:
        raise InvalidInput(field, allowed, text)
    try:
        return Fraction(stripped)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(field, allowed, text) from None
