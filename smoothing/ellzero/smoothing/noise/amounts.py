"""How much noise: the parameter of a description that is varied when an amount is chosen, and a grid of its values."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_exact, read_integer

AMOUNTS: Final[Mapping[str, str]] = {
    "discrete": "alpha",
    "rounded-gaussian": "alpha",
    "gaussian": "sigma",
    "uniform": "gamma",
    "sparse": "p_del",
    "sparse-levels": "p_del",
    "mask": "m",
    "ablation": "keep",
    "deletion": "m",
    "hierarchical": "s",
}
"""The parameter of each family that says how much noise there is. Of sparse noise it is p_del, at a fixed p_add."""

_LESS_IS_MORE = ("alpha", "keep")
_SYMBOLS = {"alpha": "α", "sigma": "σ", "gamma": "γ"}
_HIDING = ("0.6", "0.7", "0.8", "0.9", "0.95", "0.98")  # at 1/2 and below no number of votes certifies a change
_GRIDS: Final[Mapping[str, Sequence[str]]] = {
    "alpha": ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"),
    "bits": ("0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95", "0.98"),
    "p_del": ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"),
    "m": _HIDING,
    "s": _HIDING,
    "sigma": ("0.3", "0.5", "0.75", "1", "1.5"),
    "gamma": ("1.5", "2", "3", "4"),
}
_SHARES_SHOWN = tuple(map(Fraction, ("0.4", "0.3", "0.2", "0.1", "0.05", "0.02")))


def find_amount(description: Mapping[str, Any]) -> str:
    """The name of the parameter that says how much noise there is: of `total` noise that of its base.

    Raises ``InvalidInput`` for noises that have several: of several kinds of data, or of columns.
    """
    family = description["family"]
    if family == "total":
        return find_amount(description["base"])
    if family not in AMOUNTS:
        names = ", ".join(AMOUNTS)
        raise InvalidInput("noise", f"{names}, which have one amount; in Python, advise compares any noises", family)
    return AMOUNTS[family]


def read_amount(description: Mapping[str, Any]) -> Fraction:
    """How much noise there is, as the parameter states it."""
    name = find_amount(description)
    return read_amount(description["base"]) if description["family"] == "total" else Fraction(description[name])


def set_amount(description: Mapping[str, Any], value: str) -> dict[str, Any]:
    """The same noise with another amount."""
    name = find_amount(description)
    if description["family"] == "total":
        return {**description, "base": set_amount(description["base"], value)}
    if name != "keep":
        return {**description, name: str(read_exact(value, "levels", f"numbers such as {_GRIDS[name][0]}"))}
    try:
        keep = int(value)
    except ValueError:
        raise InvalidInput("levels", "how many numbers are shown, such as 10,20", value) from None
    return {**description, name: read_integer(keep, "levels", 1, description["d"])}


def list_amounts(description: Mapping[str, Any]) -> list[str]:
    """Amounts worth trying where nothing is known, from most noise to least.

    None of them is without use: of masks and deletions, for example, m ≤ 1/2 certifies nothing whatever the votes are.
    """
    if description["family"] == "total":
        return list_amounts(description["base"])
    name = find_amount(description)
    if name == "keep":
        d = int(description["d"])
        values = sorted({max(1, int(share * d)) for share in _SHARES_SHOWN if d > 1})
        return [str(value) for value in values] or ["1"]
    if name != "alpha":
        return list(_GRIDS[name])[::-1]
    k = int(description["k"])
    return [each for each in _GRIDS["bits" if k == 1 else "alpha"] if Fraction(each) * (k + 1) > 1]


def order_amounts(description: Mapping[str, Any], values: Sequence[str]) -> list[str]:
    """The values from most noise to least, each once."""
    distinct = {read_amount(set_amount(description, value)): value for value in values}
    more_first = find_amount(description) not in _LESS_IS_MORE
    return [distinct[each] for each in sorted(distinct, reverse=more_first)]


def name_amount(description: Mapping[str, Any]) -> str:
    """The parameter as people write it: α, m, p_del."""
    name = find_amount(description)
    return _SYMBOLS.get(name, name)


def show_amount(description: Mapping[str, Any]) -> str:
    """The amount as people write it."""
    return show_number(read_amount(description))


def show_number(value: str | int | Fraction) -> str:
    """An exact number as a decimal, if it is one of a few digits."""
    exact = Fraction(value)
    decimal = f"{float(exact):g}"
    return decimal if Fraction(decimal) == exact else str(exact)
