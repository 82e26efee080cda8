"""Keys of columns: one for each family, q and fixed counts, the same in memory and as text."""

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given, settings
from oracles.families import all_families
from oracles.noises import largest_inverse

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    InvalidInput,
    Joint,
    Mask,
    Sparse,
    Total,
    make_family,
)
from ellzero.tables.format.keys import BudgetColumn, describe_key, make_key, write_family

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@settings(max_examples=100, deadline=None)
@given(all_families())
def test_the_text_of_a_family_is_read_as_the_same_family(family: Family) -> None:
    again = make_family(json.loads(write_family(family)))
    assert again == family
    assert again.axes == family.axes
    assert write_family(again) == write_family(family)


def test_members_of_a_joint_family_keep_their_order() -> None:
    one, other = Sparse("0.1", "0.2"), Mask("0.5")
    assert write_family(Joint(b=one, a=other)) != write_family(Joint(a=other, b=one))


@settings(max_examples=60, deadline=None)
@given(all_families())
def test_what_is_flat_has_the_same_threshold_for_every_budget(family: Family) -> None:
    ends = [min(1, 2 if most is None else most) for most in family.most]
    key = BudgetColumn(family, THIRD, tuple(ends[:-1]))
    if key.is_flat:
        assert all(largest_inverse(family, key.counts(last), THIRD) == THIRD for last in range(ends[-1] + 1))


def test_flat_noises_are_recognised() -> None:
    assert BudgetColumn(Sparse("0.3", "0.7"), HALF, (0,)).is_flat
    assert not BudgetColumn(Sparse("0.3", "0.6"), HALF, (0,)).is_flat
    assert not BudgetColumn(Joint(a=Sparse("0.3", "0.6"), b=Sparse("0.3", "0.7")), HALF, (1, 0, 0)).is_flat
    assert BudgetColumn(Discrete(3, "1/4"), THIRD, ()).is_flat


def test_whether_a_column_is_flat_takes_no_longer_for_large_counts() -> None:
    """There are more ways to spend them than can be listed."""
    flat = Joint(a=Total(Joint(b=Sparse("0.4", "0.6"), c=Sparse("0.3", "0.7"))), d=Mask("0.5"), e=Sparse("0.2", "0.8"))
    assert BudgetColumn(flat, HALF, (10**9, 0, 0)).is_flat
    assert not BudgetColumn(flat, HALF, (10**9, 1, 0)).is_flat


@dataclass(frozen=True, init=False, repr=False)
class MaskOfOnesOwn(Mask):
    """What a user may write: it goes by a name that is taken, and is another noise."""


@dataclass(frozen=True, init=False, repr=False)
class NoiseOfOnesOwn(Deletion):
    name = "own"


@pytest.mark.parametrize("family", [MaskOfOnesOwn("0.9"), NoiseOfOnesOwn("0.9"), Joint(a=MaskOfOnesOwn("0.9"))])
def test_a_family_whose_text_nobody_could_read_has_none(family: Family) -> None:
    with pytest.raises(InvalidInput, match="^family"):
        write_family(family)


def test_the_thresholds_of_the_discrete_noise_have_one_key() -> None:
    noise = Discrete(1, "4/5")
    assert make_key(noise, HALF, ()) == noise
    assert make_key(noise, THIRD, ()) == BudgetColumn(noise, THIRD, ())
    with pytest.raises(InvalidInput, match="^q must be other than 1/2 for the discrete noise"):
        BudgetColumn(noise, HALF, ())


def test_a_key_fixes_all_axes_but_the_last() -> None:
    with pytest.raises(InvalidInput, match="^fixed must be counts of all axes but the last of add, delete"):
        BudgetColumn(Sparse("0.1", "0.2"), HALF, ())


def test_keys_are_described_as_options_name_them() -> None:
    assert describe_key(Discrete(1, "4/5")) == "K = 1, α = 4/5"
    assert describe_key(BudgetColumn(Ablation(9, 3), HALF, ())) == "Ablation(d=9, keep=3), q = 1/2"
    assert describe_key(BudgetColumn(Sparse("0.1", "0.2"), HALF, (3,))) == (
        "Sparse(p_add='1/10', p_del='1/5'), q = 1/2, add = 3"
    )
