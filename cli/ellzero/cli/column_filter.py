"""Options that choose columns of a table: by the family of their noise, its parameters, and q."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from pathlib import Path
from typing import Any

import click

from ellzero.certificates import Discrete, Family
from ellzero.certificates.budget_thresholds import HALF
from ellzero.certificates.families.base import read_parameter
from ellzero.certificates.families.registry import FAMILIES
from ellzero.cli.certificate_options import DIMENSION, K
from ellzero.cli.family_options import read_family
from ellzero.cli.parameters import IntegerRange
from ellzero.core.numbers import read_probability
from ellzero.tables.format.keys import ColumnKey

_FILES = (".json", ".toml")


@dataclass(frozen=True)
class ColumnFilter:
    """Which columns are wanted: all that have what is given."""

    name: str | None
    family: Family | None
    parameters: dict[str, Any]
    q: Fraction | None

    @property
    def noise(self) -> Discrete | None:
        """The column of the discrete noise that is wanted, if it is a single one."""
        if self.name in (None, Discrete.name) and self.q in (None, HALF) and self.parameters.keys() == {"k", "alpha"}:
            return Discrete(self.parameters["k"], self.parameters["alpha"])
        return None

    @property
    def is_of_one_family(self) -> bool:
        """Whether a family is named."""
        return self.name is not None or self.family is not None

    def matches(self, key: ColumnKey) -> bool:
        """Whether a column is wanted."""
        family, q = (key, HALF) if isinstance(key, Discrete) else (key.family, key.q)
        if self.family is not None and family != self.family:
            return False
        described = family.describe()
        return (
            (self.name is None or described["family"] == self.name)
            and (self.q is None or q == self.q)
            and all(described.get(name) == value for name, value in self.parameters.items())
        )


def column_filter(command: Callable[..., None]) -> Callable[..., None]:
    """--family, the parameters of simple ones and --q, which the command gets as ``wanted``."""

    @wraps(command)
    def run(family: str | None, q: str | None, **values: Any) -> None:
        numbers = {name: values.pop(name) for name in ("k", "d", "keep")}
        shares = {name: values.pop(name) for name in ("alpha", "p_add", "p_del", "m")}
        parameters = {name: value for name, value in numbers.items() if value is not None}
        parameters |= {name: str(read_parameter(value, name)) for name, value in shares.items() if value is not None}
        stated = family is not None and Path(family).suffix in _FILES
        if family is None and parameters and parameters.keys() <= {"k", "alpha"}:
            family = Discrete.name
        elif family is not None and not stated and family not in FAMILIES:
            raise click.UsageError(f"--family must be {', '.join(FAMILIES)}, or a .json or .toml file; got '{family}'")
        wanted = ColumnFilter(
            None if stated else family,
            read_family(str(family), parameters) if stated else None,
            {} if stated else parameters,
            None if q is None else read_probability(q, "q"),
        )
        command(wanted=wanted, **values)

    for option in (
        click.option("--q", help="Only thresholds ρ⁻¹(q) at this q."),
        click.option("--keep", type=IntegerRange(min=1), help="Only this number of coordinates shown."),
        click.option("--d", type=DIMENSION, help="ablation: only this number of coordinates."),
        click.option("--m", help="Only this probability of being hidden, or deleted."),
        click.option("--p-del", help="Only this probability that a one becomes zero."),
        click.option("--p-add", help="Only this probability that a zero becomes one."),
        click.option("--alpha", help="Only this total probability of staying."),
        click.option("--k", type=K, help="Only this number of categories minus one."),
        click.option("--family", metavar="NAME|FILE", help="Only this noise; with --k or --alpha it is discrete."),
    ):
        run = option(run)
    return run
