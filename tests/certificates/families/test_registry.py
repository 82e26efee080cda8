"""Families are what their descriptions say, and a wrong description is one clear line that names the field."""

import json
import pickle

import pytest
from hypothesis import given
from oracles.families import families

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Grouped,
    Hierarchical,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    Sparse,
    Total,
    make_family,
)
from ellzero.certificates.families.registry import FAMILIES

EXAMPLES = (
    Ablation(784, 45),
    Deletion("0.9"),
    RegionList([[(1, 2), (2, 1)], [(0, 1), (1, 0)]]),
    Joint(first=Joint(inner=Mask("0.5")), second=Grouped([(Mask("0.5"), 3), (Discrete(9, "0.8"), 4)])),
    Joint(self=Mask("0.5")),
    Total(Sparse("0.01", "0.6")),
)


@given(families())
def test_a_description_makes_the_same_family(family: Family) -> None:
    described = json.loads(json.dumps(family.describe()))
    assert make_family(described) == family
    assert hash(make_family(described)) == hash(family)


@pytest.mark.parametrize("family", EXAMPLES, ids=lambda family: str(family.name))
def test_every_family_has_a_description_survives_pickling_and_is_readable(family: Family) -> None:
    assert make_family(json.loads(json.dumps(family.describe()))) == family
    assert pickle.loads(pickle.dumps(family)) == family
    assert repr(family).startswith(type(family).__name__)


def test_a_description_is_readable() -> None:
    graph = Joint(edges=Sparse("0.01", "0.6"), pixels=Hierarchical(Discrete(255, "0.2"), "0.5"))
    assert graph.describe() == {
        "family": "joint",
        "members": {
            "edges": {"family": "sparse", "p_add": "1/100", "p_del": "3/5"},
            "pixels": {"family": "hierarchical", "base": {"family": "discrete", "k": 255, "alpha": "1/5"}, "s": "1/2"},
        },
    }
    assert repr(Sparse("0.01", "0.6")) == "Sparse(p_add='1/100', p_del='3/5')"
    assert repr(Hierarchical(Discrete(255, "0.2"), "0.5")) == "Hierarchical(base=Discrete(k=255, alpha='1/5'), s='1/2')"
    assert len({family.name for family in FAMILIES.values()}) == len(FAMILIES)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("sparse", "family must be a mapping with the key family"),
        ({}, "family must be one of discrete, sparse, .+; got None"),
        ({"family": "spares"}, "family must be one of discrete, sparse, .+; got 'spares'"),
        ({"family": ["mask"]}, "family must be one of discrete"),
        ({"family": "mask"}, "family.m must be given for mask"),
        ({"family": "mask", "m": "0.5", "p": 1}, "family.p must be left out: mask has m"),
        ({"family": "mask", "m": "1.5"}, "family.m must be a rational number strictly between 0 and 1"),
        ({"family": "mask", "m": None}, "family.m must be a rational number"),
        ({"family": "discrete", "k": "1", "alpha": "0.8"}, "family.k must be an integer"),
        ({"family": "hierarchical", "base": "mask", "s": "0.5"}, "family.base must be a mapping"),
        ({"family": "joint", "members": {}}, "family.members must be names of families"),
        ({"family": "joint", "members": [1]}, "family.members must be a mapping"),
        ({"family": "joint", "members": {"a": {"family": "mask"}}}, "family.members.a.m must be given for mask"),
        ({"family": "grouped", "members": {"a": 1}}, "family.members must be a list"),
        (
            {"family": "grouped", "members": [{"family": "mask", "m": "0.5"}]},
            r"family.members\[0\].columns must be given",
        ),
        ({"family": "regions", "regions": [[["x", 1]]]}, r"family.regions\[0\] must be pairs of exact masses"),
        ({"family": "regions", "regions": [[["1e999999999", 1]]]}, r"family.regions\[0\] must be pairs"),
        ({"family": "regions", "regions": [[[0.5, 0.5]]]}, r"family.regions\[0\] must be pairs"),
        ({"family": "regions", "regions": [[["-1", "1"], ["2", "0"]]]}, "family.regions must be"),
        ({"family": "regions", "regions": []}, "family.regions must be"),
    ],
)
def test_wrong_descriptions_are_one_clear_line(description: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        make_family(description)


def test_nesting_has_an_end() -> None:
    description: dict[str, object] = {"family": "mask", "m": "0.5"}
    for _ in range(2_000):
        description = {"family": "hierarchical", "base": description, "s": "0.5"}
    with pytest.raises(InvalidInput, match="nested less deeply"):
        make_family(description)
