"""Grids: which thresholds to compute, read from a TOML file or from options, exactly."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ellzero.certificates import Discrete
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.discrete import MAX_K
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import MAX_DIMENSION, read_dimension, read_integer
from ellzero.precompute.axes import INTEGER, MOST_COLUMNS, axis
from ellzero.precompute.family_grid import FamilyGrid, make_family_grid

SATURATE = "saturate"
_KEYS = ("k", "alpha", "d", "r_max")
_R_MAX = f"an integer from 0 to {MAX_DIMENSION} or '{SATURATE}'"


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


def read_grid(path: Path) -> GridSpec | FamilyGrid:
    """A grid from a TOML file: of discrete noise with the keys k, alpha, and optionally d and r_max; or of any family.

    The latter has the keys of its description, which begin with family, and max, and optionally q.
    """
    try:
        with path.open("rb") as file:
            fields: dict[str, Any] = tomllib.load(file, parse_float=str)  # axes read text exactly
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput("grid", f"a TOML file ({error})", str(path)) from None
    if "family" in fields:
        return make_family_grid(fields, fields.pop("max", None), fields.pop("q", HALF))
    for key in fields:
        if key not in _KEYS:
            raise InvalidInput("grid", f"a file with the keys {', '.join(_KEYS)}, or with family and max", key)
    for key in ("k", "alpha"):
        if key not in fields:
            raise InvalidInput("grid", f"a file that gives {key}", str(path))
    return make_grid(**fields)


def _radius(r_max: object) -> int:
    if isinstance(r_max, str) and INTEGER.fullmatch(r_max):
        r_max = int(r_max)
    try:
        return read_integer(r_max, "r_max", 0, MAX_DIMENSION)
    except InvalidInput:
        raise InvalidInput("r_max", _R_MAX, r_max) from None
