"""Numbers as a request carries them: a probability as exactly what it is, α as what was written.

The service reads text as an exact rational, so a double becomes the fraction that it is (0.75 is "3/4").
"""

import operator
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from typing import TypeAlias

from ellzero.client.errors import UnsendableValue

Number: TypeAlias = str | int | float | Decimal | Fraction

_MAX_TEXT = 400  # what the service reads; any double is a fraction of fewer
_ALLOWED = f"a finite number that {_MAX_TEXT} characters write exactly"


def write_exact(value: object, field: str) -> str:
    """Write ``value`` as text of exactly its value; a float, of any width, is its exact binary value.

    The fraction is the shortest exact text of a double: its decimal expansion has a digit for each bit after the point.
    """
    is_double = isinstance(value, float)  # of these there are long lists
    if not is_double and (isinstance(value, Rational) or not isinstance(value, Real)):
        return write_shortest(value, field)
    try:
        numerator, denominator = value.as_integer_ratio()  # type: ignore[attr-defined]
    except (AttributeError, OverflowError, ValueError):  # no binary number, an infinity, NaN
        raise UnsendableValue(field, _ALLOWED, value) from None
    if is_double:
        return f"{numerator}/{denominator}" if denominator > 1 else str(numerator)
    return write_shortest(Fraction(int(numerator), int(denominator)), field)


def write_shortest(value: object, field: str) -> str:
    """Write ``value`` as its author did; a float is its shortest decimal (0.1 is 1/10). Other numbers are exact."""
    text = _write(value)
    if text is None or len(text) > _MAX_TEXT:
        raise UnsendableValue(field, _ALLOWED, value)
    return text


def read_integer(value: object, field: str) -> int:
    """Return ``value`` as an int; True, 1.0 and "1" are not integers. The service checks its range."""
    allowed = "an integer"
    if isinstance(value, bool):
        raise UnsendableValue(field, allowed, value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UnsendableValue(field, allowed, value) from None
    if number.bit_length() > 3 * _MAX_TEXT:
        raise UnsendableValue(field, allowed, value)
    return number


def _write(value: object) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return value if value.isascii() else None
    if isinstance(value, Rational):
        number = Fraction(int(value.numerator), int(value.denominator))
        # Python refuses to print integers of thousands of digits, which would be too long anyway.
        long = max(number.numerator.bit_length(), number.denominator.bit_length()) > 4 * _MAX_TEXT
        return None if long else str(number)
    if isinstance(value, float):
        return float.__repr__(value) if isfinite(value) else None
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    # numpy's float32 and so on, as they print
    return str(value) if isinstance(value, Real) and isfinite(value) else None
