"""Grids: which thresholds to compute, read from a TOML file or from options, exactly."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ellzero.certificates import Discrete
from ellzero.certificates.families.discrete import MAX_K
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import MAX_DIMENSION, read_dimension, read_integer, read_shortest

SATURATE = "saturate"
_KEYS = ("k", "alpha", "d", "r_max")
_INTEGER = re.compile(r"\d{1,12}", re.ASCII)
_AXIS = {
    "k": "integers such as 255, 1,255 or 1:31:2 (ends included)",
    "d": "integers such as 784, 784,3072 or 1000:5000:1000 (ends included)",
    "alpha": "numbers such as 0.2, 0.1,1/3 or 0.01:0.99:0.01 (ends included)",
}
_R_MAX = f"an integer from 0 to {MAX_DIMENSION} or '{SATURATE}'"
MOST_VALUES = 1_000_000
# A plan takes 200 bytes a column.
MOST_COLUMNS = 2_000_000


@dataclass(frozen=True)
class GridSpec:
    """All noises of ``ks`` × ``alphas``, with the radii 0..r_end or to saturation, if that comes first.

    d is not an axis: τ_r is the same for every d ≥ r, so the largest d only bounds the radii.
    """

    ks: tuple[int, ...]
    alphas: tuple[Fraction, ...]
    r_end: int

    def noises(self) -> Iterator[Discrete]:
        """In order of K and α, each once."""
        return (Discrete(k, alpha) for k in self.ks for alpha in self.alphas)

    def __len__(self) -> int:
        return len(self.ks) * len(self.alphas)


def make_grid(k: object, alpha: object, d: object = None, r_max: object = SATURATE) -> GridSpec:
    """A grid from axes as users write them: a value, a list, or text with commas and inclusive ranges.

    >>> make_grid("1,255", "0.1:0.3:0.1", d=784).alphas
    (Fraction(1, 10), Fraction(1, 5), Fraction(3, 10))
    """
    ks = [read_integer(value, "k", 1, MAX_K) for value in axis("k", k)]
    alphas = [Discrete(1, value).alpha for value in axis("alpha", alpha)]
    ds = None if d is None else [read_dimension(value) for value in axis("d", d)]
    largest = MAX_DIMENSION if ds is None else max(ds)
    r_end = largest if r_max == SATURATE else _radius(r_max)
    if r_end > largest:
        raise InvalidInput("r_max", f"at most the largest d, {largest}: no radius exceeds d", r_end)
    grid = GridSpec(tuple(sorted(set(ks))), tuple(sorted(set(alphas))), r_end)
    if len(grid) > MOST_COLUMNS:
        raise InvalidInput("grid", f"of at most {MOST_COLUMNS:,} columns; cut it into several runs", len(grid))
    return grid


def read_grid(path: Path) -> GridSpec:
    """A grid from a TOML file with the keys k, alpha, and optionally d and r_max."""
    try:
        with path.open("rb") as file:
            fields: dict[str, Any] = tomllib.load(file, parse_float=str)  # axes read text exactly
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("grid", f"a TOML file ({error})", str(path)) from None
    for key in fields:
        if key not in _KEYS:
            raise InvalidInput("grid", f"a file with the keys {', '.join(_KEYS)}", key)
    for key in ("k", "alpha"):
        if key not in fields:
            raise InvalidInput("grid", f"a file that gives {key}", str(path))
    return make_grid(**fields)


def axis(field: str, written: object) -> list[Fraction | int]:
    """The values of an axis, as exact numbers."""
    values: list[Fraction | int] = []
    items: Sequence[object] = written if isinstance(written, list | tuple) else [written]
    for item in items:
        if isinstance(item, str):
            for text in item.split(","):
                values.extend(_values(field, text.strip()))
                _check_count(field, len(values), written)
        elif field == "alpha":
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
    if len(bounds) > 3 or (field == "alpha" and len(bounds) == 2):
        raise InvalidInput(field, _AXIS[field], text)
    if field == "alpha":
        numbers = [read_shortest(bound, field, _AXIS[field]) for bound in bounds]
    elif all(_INTEGER.fullmatch(bound) for bound in bounds):
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
    return value if field == "alpha" else int(value)


def _radius(r_max: object) -> int:
    if isinstance(r_max, str) and _INTEGER.fullmatch(r_max):
        r_max = int(r_max)
    try:
        return read_integer(r_max, "r_max", 0, MAX_DIMENSION)
    except InvalidInput:
        raise InvalidInput("r_max", _R_MAX, r_max) from None
