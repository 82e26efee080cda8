"""What /v1/families says of each family is what the family itself does."""

import json

import pytest

from ellzero.certificates import certified, make_family, thresholds
from ellzero.certificates.families.registry import FAMILIES, list_parameters
from ellzero.core.schemas import FamilyInfo
from ellzero.tables.lookup.family_catalogue import answer_families

_FAMILIES = answer_families().families
_PARAMETERS = [(info, parameter.name) for info in _FAMILIES for parameter in info.parameters]


def test_every_family_is_described_and_the_simple_ones_come_first() -> None:
    assert {info.name for info in _FAMILIES} == set(FAMILIES)
    assert [info.composed for info in _FAMILIES] == sorted(info.composed for info in _FAMILIES)


@pytest.mark.parametrize("info", _FAMILIES, ids=lambda info: info.name)
def test_its_parameters_and_kinds_of_change_are_those_of_the_family(info: FamilyInfo) -> None:
    assert tuple(parameter.name for parameter in info.parameters) == list_parameters(info.name)
    family = make_family(json.loads(json.dumps(info.example)))
    if info.kinds_follow is None:
        assert tuple(kind.name for kind in info.kinds) == family.axes
    else:
        assert info.kinds == []
        assert info.composed


@pytest.mark.parametrize("info", _FAMILIES, ids=lambda info: info.name)
def test_its_example_and_limits_work_together(info: FamilyInfo) -> None:
    family = make_family(info.example)
    assert family.read_budget(info.limits)
    assert certified(family, "0.99", info.limits) is not None
    assert thresholds(family, [info.limits])[0] > 0


@pytest.mark.parametrize(("info", "name"), _PARAMETERS, ids=lambda value: getattr(value, "name", value))
def test_the_example_of_a_parameter_is_allowed(info: FamilyInfo, name: str) -> None:
    (parameter,) = (one for one in info.parameters if one.name == name)
    make_family({**info.example, name: parameter.example})
    simple = parameter.type in ("integer", "probability")
    assert simple or info.composed
    assert (parameter.low is not None and parameter.high is not None) == (parameter.type == "integer")
