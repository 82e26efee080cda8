"""The values of a parameter as people write them: one, a list, or text with commas and inclusive ranges. Exact."""

import re
from collections.abc import Sequence
from fractions import Fraction

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_integer, read_shortest

INTEGER = re.compile(r"\d{1,12}", re.ASCII)
_COUNTS = {"k": "255, 1,255 or 1:31:2", "d": "784, 784,3072 or 1000:5000:1000", "keep": "50, 10,50 or 10:50:10"}
_SHARES = {
    "alpha": "0.2, 0.1,1/3 or 0.01:0.99:0.01",
    "p_add": "0.01, 0.001,1/300 or 0.001:0.01:0.001",
    "p_del": "0.6, 0.4,2/3 or 0.1:0.9:0.1",
    "m": "0.9, 0.5,2/3 or 0.1:0.9:0.1",
    "s": "0.9, 0.5,2/3 or 0.1:0.9:0.1",
}
PARAMETERS = (*_COUNTS, *_SHARES)
"""The parameters of families that are numbers."""
_AXIS = {
    **{field: f"integers such as {examples} (ends included)" for field, examples in _COUNTS.items()},
    **{field: f"numbers such as {examples} (ends included)" for field, examples in _SHARES.items()},
}
MOST_VALUES = 1_000_000
# A plan takes 200 bytes a column.
MOST_COLUMNS = 2_000_000


def axis(field: str, written: object) -> list[Fraction | int]:
    """The values of an axis, as exact numbers."""
    values: list[Fraction | int] = []
    items: Sequence[object] = written if isinstance(written, list | tuple) else [written]
    for item in items:
        if isinstance(item, str):
            for text in item.split(","):
                values.extend(_values(field, text.strip()))
                _check_count(field, len(values), written)
        elif field in _SHARES:
            values.append(read_shortest(item, field, _AXIS[field]))
        else:
            values.append(read_integer(item, field, 1))
        _check_count(field, len(values), written)
    if not values:
        raise InvalidInput(field, _AXIS[field], written)
    return values


def _values(field: str, text: str) -> list[Fraction | int]:
    """The values of one item of text: a number, or a range low:high or low:high:step with both ends."""
    bounds = text.split(":")
    if len(bounds) > 3 or (field in _SHARES and len(bounds) == 2):
        raise InvalidInput(field, _AXIS[field], text)
    if field in _SHARES:
        numbers = [read_shortest(bound, field, _AXIS[field]) for bound in bounds]
    elif all(INTEGER.fullmatch(bound) for bound in bounds):
        numbers = [Fraction(int(bound)) for bound in bounds]
    else:
        raise InvalidInput(field, _AXIS[field], text)
    if len(numbers) == 1:
        return [_number(field, numbers[0])]
    low, high, step = (*numbers, Fraction(1))[:3]
    if step <= 0 or high < low:
        raise InvalidInput(field, "a range that rises: low:high:step with low ≤ high and a step above 0", text)
    count = (high - low) // step + 1
    _check_count(field, count, text)
    return [_number(field, low + index * step) for index in range(count)]


def _check_count(field: str, count: int, written: object) -> None:
    if count > MOST_VALUES:
        raise InvalidInput(field, f"at most {MOST_VALUES:,} values", written)


def _number(field: str, value: Fraction) -> Fraction | int:
    return value if field in _SHARES else int(value)
