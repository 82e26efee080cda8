"""Others' results as files: tab- or comma-separated with a header, as the code of Cohen et al. and of Lee et al. writes
them, or Parquet.

Numbers are read exactly as they are written. Columns are found by their names, whatever the case.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

from ellzero.audit.errors import UnreadableClaims
from ellzero.core.canonical_json import read_small_file
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.core.numbers import read_probability, read_shortest

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "index": ("idx", "index", "id"),
    "predict": ("predict", "prediction", "pred"),
    "radius": ("radius", "certified_radius", "r"),
    "count": ("count", "counts", "na", "n_a"),
    "n": ("n",),
    "p": ("p", "pa", "pabar", "p_lower", "lower_bound"),
}
"""What is read, and the names of columns that have it."""
_MOST_BYTES = 500_000_000
_MOST_VOTES = 10**8


@dataclass(frozen=True)
class ClaimedRadius:
    """A radius as it is claimed for an input, None if it abstains; and what is known of the class's probability.

    ``unit`` is the value of the last digit that is written. ``count`` of ``n`` votes were for the class; ``p`` is a
    lower bound of its probability.
    """

    index: str
    radius: Fraction | None
    unit: Fraction
    count: int | None
    n: int | None
    p: Fraction | None


def read_claims(path: Path) -> list[ClaimedRadius]:
    """The claims of a file in their order. Raises `UnreadableClaims`."""
    try:
        data = read_small_file(path, _MOST_BYTES)
    except OSError as error:
        raise UnreadableClaims(str(path), f"cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise UnreadableClaims(str(path), f"has more than {_MOST_BYTES // 1_000_000} MB")
    rows = _read_parquet(str(path), data) if data.startswith(b"PAR1") else _read_text(str(path), data)
    claims = []
    for number, row in enumerate(rows, 1):
        try:
            claims.append(_read_row(number, row))
        except InvalidInput as error:
            raise UnreadableClaims(str(path), f"has no such row as number {number}: {error}") from None
    if not claims:
        raise UnreadableClaims(str(path), "has no rows")
    return claims


def _read_text(place: str, data: bytes) -> Iterator[dict[str, str]]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableClaims(place, "is neither text nor Parquet") from None
    head = text.partition("\n")[0]
    delimiter = next((each for each in ("\t", ",", ";") if each in head), "\t")
    try:
        header, *lines = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):  # ValueError: there is no header
        raise UnreadableClaims(place, "is no table with a header") from None
    places = _find_columns(place, header)
    for line in lines:
        if any(cell.strip() for cell in line):
            yield {name: line[at].strip() for name, at in places.items() if at < len(line)}


def _read_parquet(place: str, data: bytes) -> Iterator[dict[str, str]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as missing:
        raise MissingExtra("reading Parquet", "tables", missing.name or "") from None
    try:
        file = pq.ParquetFile(BytesIO(data))
        names = file.schema_arrow.names
        places = _find_columns(place, names)
        table = file.read(columns=[names[at] for at in places.values()])
    except (pa.ArrowException, OSError) as error:
        raise UnreadableClaims(place, "is damaged Parquet") from error
    for row in table.to_pylist():
        cells = {name: row[names[at]] for name, at in places.items()}
        yield {name: "" if cell is None else str(cell) for name, cell in cells.items()}


def _find_columns(place: str, header: Iterable[str]) -> dict[str, int]:
    """Where what is read stands, by the first name of `COLUMNS` that there is; at least the radius."""
    names = [name.strip().lower() for name in header]
    places = {}
    for column, aliases in COLUMNS.items():
        if (name := next((alias for alias in aliases if alias in names), None)) is None:
            continue
        if names.count(name) > 1:
            raise UnreadableClaims(place, f"has several columns {name}")
        places[column] = names.index(name)
    if {"selection", "drawn"} <= set(names):
        raise UnreadableClaims(place, "is of a run of ellzero, whose radii ellzero verify derives from its looks")
    if "radius" not in places:
        raise UnreadableClaims(place, "has no column radius")
    return places


def _read_row(number: int, row: Mapping[str, str]) -> ClaimedRadius:
    text = row.get("radius", "")
    radius = None if text == "" else read_shortest(text, "radius", "a finite number of at least 0")
    if radius is not None and radius < 0:
        raise InvalidInput("radius", "a finite number of at least 0", text)
    if row.get("predict", "") and _read_whole(row["predict"], "predict") == -1:
        radius = None
    return ClaimedRadius(
        row.get("index") or str(number),
        radius,
        _find_unit(text),
        _read_if(row, "count", _read_count),
        _read_if(row, "n", _read_count),
        _read_if(row, "p", read_probability),
    )


def _read_if(row: Mapping[str, str], name: str, read: Callable[[str, str], Any]) -> Any:
    text = row.get(name, "")
    return read(text, name) if text else None


def _read_whole(text: str, field: str) -> int:
    value = read_shortest(text, field, "an integer")
    if value.denominator != 1:
        raise InvalidInput(field, "an integer", text)
    return int(value)


def _read_count(text: str, field: str) -> int:
    value = _read_whole(text, field)
    if not 0 <= value <= _MOST_VOTES:
        raise InvalidInput(field, f"an integer from 0 to {_MOST_VOTES}", text)
    return value


def _find_unit(text: str) -> Fraction:
    """The value of the last digit of a decimal."""
    mantissa, _, exponent = text.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    return Fraction(10) ** ((int(exponent) if exponent else 0) - digits)
