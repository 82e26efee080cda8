"""Families by name: made from descriptions, as files, tables and requests state them. The inverse of `describe`."""

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, Final

from ellzero.certificates.families.base import DEEPEST, Family
from ellzero.certificates.families.composed import Grouped, Joint, RegionList, Total
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.families.masks import Ablation, Deletion, Hierarchical, Mask
from ellzero.certificates.families.sparse import Sparse, SparseLevels
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import read_exact

_TYPES = (Discrete, Sparse, SparseLevels, Mask, Ablation, Deletion, Hierarchical, Joint, Grouped, Total, RegionList)
FAMILIES: Final[Mapping[str, type[Family]]] = {family.name: family for family in _TYPES}


def make_family(description: object, field: str = "family", *, depth: int = 0) -> Family:
    """The family that has this description, such as ``{"family": "sparse", "p_add": "0.01", "p_del": "0.6"}``.

    Raises `InvalidInput`, which names the field, for a family or a parameter that there is not or that is missing.
    """
    if not isinstance(description, Mapping):
        raise InvalidInput(field, "a mapping with the key family", description)
    given = dict(description)
    name = given.pop("family", None)
    if depth > DEEPEST:
        raise InvalidInput(field, "nested less deeply", name)
    if not isinstance(name, str) or name not in FAMILIES:
        raise InvalidInput(field, f"one of {', '.join(FAMILIES)}", name)
    needed = list_parameters(name)
    for key in given:
        if key not in needed:
            raise InvalidInput(f"{field}.{key}", f"left out: {name} has {', '.join(needed)}", given[key])
    for key in needed:
        if key not in given:
            raise InvalidInput(f"{field}.{key}", f"given for {name}", None)
    try:
        return _make(name, given, field, depth + 1)
    except InvalidInput as error:
        if error.field.startswith(field):
            raise
        raise InvalidInput(f"{field}.{error.field}", error.allowed, error.value) from None


def list_parameters(name: str) -> tuple[str, ...]:
    """The names of the parameters of a family, as in descriptions."""
    if name == RegionList.name:
        return ("regions",)
    return tuple(each.name for each in fields(FAMILIES[name]))  # type: ignore[arg-type]


def _make(name: str, given: Mapping[str, Any], field: str, depth: int) -> Family:
    if name == Hierarchical.name:
        return Hierarchical(make_family(given["base"], f"{field}.base", depth=depth), given["s"])
    if name == Total.name:
        return Total(make_family(given["base"], f"{field}.base", depth=depth))
    if name == Joint.name:
        named = _read_mapping(given["members"], f"{field}.members")
        return Joint(
            **{label: make_family(each, f"{field}.members.{label}", depth=depth) for label, each in named.items()}
        )
    if name == Grouped.name:
        members = _read_list(given["members"], f"{field}.members")
        return Grouped([_read_group(each, f"{field}.members[{place}]", depth) for place, each in enumerate(members)])
    if name == RegionList.name:
        lists = _read_list(given["regions"], f"{field}.regions")
        return RegionList([_read_regions(each, f"{field}.regions[{place}]") for place, each in enumerate(lists)])
    return FAMILIES[name](**given)


def _read_group(description: object, field: str, depth: int) -> tuple[Family, int]:
    given = _read_mapping(description, field)
    if "columns" not in given:
        raise InvalidInput(f"{field}.columns", "given: the number of columns of that kind", None)
    member = {key: value for key, value in given.items() if key != "columns"}
    return make_family(member, field, depth=depth), given["columns"]


def _read_regions(pairs: object, field: str) -> list[tuple[Fraction, Fraction]]:
    allowed = "pairs of exact masses, such as ['1/2', '1/3']"
    regions = []
    for pair in _read_list(pairs, field):
        if (
            not isinstance(pair, list | tuple)
            or len(pair) != 2
            or not all(isinstance(each, str | int) for each in pair)
        ):
            raise InvalidInput(field, allowed, pair)
        regions.append((read_exact(pair[0], field, allowed), read_exact(pair[1], field, allowed)))
    return regions


def _read_mapping(value: object, field: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(field, "a mapping", value)
    return dict(value)


def _read_list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(field, "a list", value)
    return list(value)
