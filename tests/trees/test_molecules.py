"""Molecules: fingerprints by name of row, and splits that are always the same."""

import os
from pathlib import Path

import numpy as np
import pytest

from ellzero.core.errors import InvalidInput
from ellzero.trees import (
    UnusableFeatures,
    compute_fingerprints,
    load_binary_data,
    split_by_scaffold,
    split_randomly,
)

RINGS = ["c1ccccc1C", "c1ccccc1O", "c1ccccc1N", "C1CCCCC1", "C1CCCC1"]


def test_a_fingerprint_has_1024_bits_and_does_not_depend_on_the_way_a_molecule_is_written() -> None:
    bits = compute_fingerprints(["CCO", "OCC", "c1ccccc1"])
    assert bits.shape == (3, 1024)
    assert set(np.unique(bits)) == {0, 1}
    assert (bits[0] == bits[1]).all()
    assert (bits[0] != bits[2]).any()


@pytest.mark.parametrize("wrong", ["not a molecule", "", "C1CC", None, 7])
def test_what_is_no_molecule_is_named_by_its_row(wrong: object, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnusableFeatures, match="row 2 is not a molecule that RDKit can read"):
        compute_fingerprints(["CCO", "C", wrong])
    assert capfd.readouterr().err == ""


def test_molecules_of_one_scaffold_stay_together_and_large_scaffolds_come_first() -> None:
    split = split_by_scaffold([*RINGS, "C1CC1", "C1CCC1", "C1CCCCCC1", "C1CCCCCCC1", "C1CCCCCCCC1"])
    assert {0, 1, 2} <= set(split.train.tolist())
    parts = [split.train, split.validation, split.test]
    assert [len(part) for part in parts] == [8, 1, 1]
    assert sorted(np.concatenate(parts).tolist()) == list(range(10))


def test_a_random_split_depends_on_its_seed_only() -> None:
    first, again, other = (split_randomly(1513, seed) for seed in (1, 1, 2))
    assert [len(first.train), len(first.validation), len(first.test)] == [1210, 151, 152]
    assert (first.test == again.test).all()
    assert (first.test != other.test).any()
    with pytest.raises(InvalidInput, match="seed must be an integer"):
        split_randomly(10, -1)


def test_bace_is_split_as_others_split_it() -> None:
    path = Path(os.environ.get("ELLZERO_DATA", "data")) / "bace" / "bace.csv"
    if not path.exists():
        pytest.skip(f"needs BACE at {path}; ELLZERO_DATA names the folder of data sets")
    parts = [load_binary_data(str(path), "Class", "mol", "scaffold", part) for part in ("train", "validation", "test")]
    assert [len(part.labels) for part in parts] == [1210, 151, 152]
    assert [round(100 * part.labels.mean()) for part in parts] == [43, 56, 61]
