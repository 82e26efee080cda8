"""The results of an experiment: tables of exact cells, as JSON in full, and rounded only where people read them.

A band is rounded outwards, a guarantee down and a threshold up: what is printed holds if what was computed does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any, Final, Literal, TypeAlias, TypeVar

from ellzero.core.errors import InvalidInput
from ellzero.core.text import format_seconds


@dataclass(frozen=True)
class Estimate:
    """A figure of ours with its confidence band low … high, and what the paper reports; each may be missing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    paper: float | None = None

    def __post_init__(self) -> None:
        numbers = [number for number in (self.value, self.low, self.high, self.paper) if number is not None]
        if not all(map(isfinite, numbers)):
            raise InvalidInput("estimate", "of finite numbers", self)
        band = (self.low, self.high)
        if band != (None, None) and (None in band or self.value is None or not self.low <= self.value <= self.high):  # type: ignore[operator]
            raise InvalidInput("estimate", "a value with a band around it", self)

    @property
    def holds_paper(self) -> bool | None:
        """Whether the paper's figure lies within our band; None if there is no such figure, or no band."""
        if self.paper is None or self.low is None or self.high is None:
            return None
        return self.low <= self.paper <= self.high


_ROUNDINGS: Final[Mapping[str, Callable[[Fraction], int]]] = {"nearest": round, "down": floor, "up": ceil}

N = TypeVar("N", int, float, Decimal)
_STYLES: Final = ("number", "percent", "seconds")

Cell: TypeAlias = str | bool | int | float | Decimal | Fraction | Estimate | None


@dataclass(frozen=True)
class ResultColumn:
    """A column and how its numbers are printed.

    ``style``: "number", "percent" (0.5 is 50%), "seconds" (1.5 ms, 2 minutes). ``digits`` are those after the point;
    without them a number is printed in full. ``rounding`` is "nearest", "down" for guarantees, or "up" for thresholds.
    """

    title: str
    style: Literal["number", "percent", "seconds"] = "number"
    digits: int | None = None
    rounding: Literal["nearest", "down", "up"] = "nearest"

    def __post_init__(self) -> None:
        if self.style not in _STYLES or self.rounding not in _ROUNDINGS or not isinstance(self.title, str):
            raise InvalidInput("column", "a title with a known style and rounding", self)
        if self.digits is not None and (not isinstance(self.digits, int) or self.digits < 0):
            raise InvalidInput("digits", "an integer of at least 0", self.digits)

    def print_cell(self, cell: Cell) -> list[str]:
        """The lines of a cell: an estimate's band and the paper's figure stand below its value."""
        if cell is None:
            return ["–"]
        if isinstance(cell, bool):
            return ["yes" if cell else "no"]
        if isinstance(cell, str):
            return [cell]
        if isinstance(cell, Estimate):
            return self._print_estimate(cell)
        return [self._print_number(cell, _ROUNDINGS[self.rounding])]

    def _print_estimate(self, cell: Estimate) -> list[str]:
        lines = ["–" if cell.value is None else self._print_number(cell.value, round)]
        if cell.low is not None and cell.high is not None:
            low, high = self._print_number(cell.low, floor), self._print_number(cell.high, ceil)
            lines.append(f"{low} – {high}")
        if cell.paper is not None:
            outside = ", outside" if cell.holds_paper is False else ""
            lines.append(f"paper {self._print_number(cell.paper, round)}{outside}")
        return lines

    def _print_number(self, number: int | float | Decimal | Fraction, rounding: Callable[[Fraction], int]) -> str:
        if self.style == "seconds":
            return format_seconds(float(number))
        percent = self.style == "percent"
        if isinstance(number, int) and not percent:
            return f"{number:,}"
        if self.digits is None:
            return f"{float(100 * number):g}%" if percent else str(number)
        scale = 10**self.digits
        units = rounding(Fraction(number) * (100 if percent else 1) * scale)
        whole, rest = divmod(abs(units), scale)
        point = f".{rest:0{self.digits}d}" if self.digits else ""
        return f"{'-' if units < 0 else ''}{whole:,}{point}{'%' if percent else ''}"


@dataclass(frozen=True)
class ResultTable:
    """Rows of cells below columns. ``name`` is unique in its experiment; ``caption`` says what a reader must know."""

    name: str
    title: str
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidInput("rows", f"of {len(self.columns)} cells in the table {self.name}", len(row))

    def to_markdown(self) -> str:
        """The table in Markdown, with its caption below; the title is for a heading."""
        lines = [_join_row([column.title for column in self.columns]), "|" + "---|" * len(self.columns)]
        lines += [_join_row(["<br>".join(cell) for cell in row]) for row in self._printed_rows()]
        return "\n".join([*lines, "", self.caption] if self.caption else lines) + "\n"

    def to_text(self) -> str:
        """The table in columns of plain text, with its title above and its caption below."""
        titles = [[column.title] for column in self.columns]
        rows = [titles, *self._printed_rows()]
        widths = [max(len(line) for row in rows for line in row[place]) for place in range(len(self.columns))]
        lines = [self.title]
        for row in rows:
            for number in range(max(map(len, row), default=0)):
                cells = [cell[number] if number < len(cell) else "" for cell in row]
                lines.append("  ".join(text.ljust(width) for text, width in zip(cells, widths, strict=True)).rstrip())
        return "\n".join([*lines, self.caption] if self.caption else lines) + "\n"

    def _printed_rows(self) -> list[list[list[str]]]:
        return [[column.print_cell(cell) for column, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON, with every digit."""
        columns = [
            {"title": each.title, "style": each.style, "digits": each.digits, "rounding": each.rounding}
            for each in self.columns
        ]
        return {
            "name": self.name,
            "title": self.title,
            "columns": columns,
            "rows": [[_cell_to_json(cell) for cell in row] for row in self.rows],
            "caption": self.caption,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ResultTable":
        """The table that `to_json` wrote. For anything else KeyError, TypeError, ValueError or ArithmeticError."""
        return cls(
            value["name"],
            value["title"],
            tuple(ResultColumn(**column) for column in value["columns"]),
            tuple(tuple(_cell_from_json(cell) for cell in row) for row in value["rows"]),
            value["caption"],
        )


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment found, as ``results.json`` has it.

    ``seconds`` are those of computing, over all runs that it took; ``values`` single figures by name, as JSON has them;
    ``notes`` sentences for the reader; ``plots`` files in the same folder.
    """

    name: str
    command: str
    seconds: float
    tables: tuple[ResultTable, ...]
    values: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()

    def table(self, name: str) -> ResultTable:
        """The table of this name. Raises KeyError if there is none."""
        return {table.name: table for table in self.tables}[name]

    def describe(self) -> list[str]:
        """The tables and notes as lines of plain text."""
        return [*(table.to_text() for table in self.tables), *self.notes]

    def to_json(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {
            "name": self.name,
            "command": self.command,
            "seconds": self.seconds,
            "tables": [table.to_json() for table in self.tables],
            "values": dict(self.values),
            "notes": list(self.notes),
            "plots": list(self.plots),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "ExperimentResult":
        """The result that `to_json` wrote. For anything else KeyError, TypeError, ValueError or ArithmeticError."""
        texts = (value["name"], value["command"], *value["notes"], *value["plots"])
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("a text is none")
        return cls(
            value["name"],
            value["command"],
            _read_finite(value["seconds"]),
            tuple(map(ResultTable.from_json, value["tables"])),
            value["values"],
            tuple(value["notes"]),
            tuple(value["plots"]),
        )


def _join_row(cells: Sequence[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _cell_to_json(cell: Cell) -> Any:
    if isinstance(cell, Decimal):
        return {"decimal": str(cell)}
    if isinstance(cell, Fraction):
        return {"fraction": str(cell)}
    if isinstance(cell, Estimate):
        return {"estimate": [cell.value, cell.low, cell.high, cell.paper]}
    return cell


def _cell_from_json(value: Any) -> Cell:
    match value:
        case {"decimal": str(text)}:
            return _read_finite(Decimal(text))
        case {"fraction": str(text)}:
            return Fraction(text)
        case {"estimate": [_, _, _, _] as numbers}:
            return Estimate(*numbers)
        case None | bool() | str():
            return value
        case int() | float():
            return _read_finite(value)
    raise ValueError(f"no cell: {value!r}")


def _read_finite(number: N) -> N:
    if isinstance(number, bool) or not isfinite(number):
        raise ValueError(f"no finite number: {number!r}")
    return number
