"""Molecules as bits: Morgan fingerprints, and splits by scaffold or at random. Needs RDKit: ``ellzero[chem]``."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.core.errors import MissingExtra
from ellzero.core.numbers import read_integer
from ellzero.trees.errors import UnusableFeatures

RADIUS = 2
BITS = 1_024
# Of all rows, those before the first share are for training, those between the two for validation, the rest for tests.
_TRAIN, _VALIDATION = 0.8, 0.9


@dataclass(frozen=True, eq=False)
class DataSplit:
    """The rows of the three parts of a data set."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def compute_fingerprints(smiles: Sequence[object]) -> NDArray[np.uint8]:
    """Morgan fingerprints of radius 2 and 1,024 bits, one row a molecule. A row that is no SMILES is named."""
    from_molecule = _rdkit_generators().GetMorganGenerator(radius=RADIUS, fpSize=BITS)
    rows = [from_molecule.GetFingerprintAsNumPy(molecule) for molecule in _parse(smiles)]
    return np.array(rows, np.uint8).reshape(-1, BITS)


def split_by_scaffold(smiles: Sequence[object]) -> DataSplit:
    """80, 10 and 10 % by Bemis–Murcko scaffold, chirality ignored: molecules of one scaffold stay together.

    The rule of DeepChem's ``ScaffoldSplitter``: scaffolds with most molecules first, of equal ones the one that
    appears last first; each goes to training if it fits there, else to validation if it fits, else to the test set.
    No chance is involved.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for row, molecule in enumerate(_parse(smiles)):
        groups[_rdkit_scaffolds().MurckoScaffoldSmiles(mol=molecule, includeChirality=False)].append(row)
    train, validation, test = list[int](), list[int](), list[int]()
    for rows in sorted(groups.values(), key=lambda rows: (len(rows), rows[0]), reverse=True):
        if len(train) + len(rows) <= _TRAIN * len(smiles):
            train += rows
        elif len(train) + len(validation) + len(rows) <= _VALIDATION * len(smiles):
            validation += rows
        else:
            test += rows
    return DataSplit(*(np.array(rows, np.int64) for rows in (train, validation, test)))


def split_randomly(rows: int, seed: int) -> DataSplit:
    """80, 10 and 10 % at random, the same for the same seed."""
    seed = read_integer(seed, "seed", 0)
    order = np.random.default_rng(seed).permutation(rows)
    first, second = int(_TRAIN * rows), int(_VALIDATION * rows)
    return DataSplit(order[:first], order[first:second], order[second:])


def _parse(smiles: Iterable[object]) -> list[Any]:
    chem, base = _rdkit_chem(), _rdkit_base()
    molecules = []
    with base.BlockLogs():  # RDKit would print its own complaint besides our error
        for row, text in enumerate(smiles):
            molecule = chem.MolFromSmiles(text) if isinstance(text, str) else None
            if molecule is None or not molecule.GetNumAtoms():
                raise UnusableFeatures(f"row {row} is not a molecule that RDKit can read: {text!r}")
            molecules.append(molecule)
    return molecules


def _rdkit_chem() -> Any:
    try:
        from rdkit import Chem
    except ModuleNotFoundError:
        raise MissingExtra("reading molecules", "chem", "rdkit") from None
    return Chem


def _rdkit_base() -> Any:
    from rdkit import rdBase

    return rdBase


def _rdkit_generators() -> Any:
    _rdkit_chem()
    from rdkit.Chem import rdFingerprintGenerator

    return rdFingerprintGenerator


def _rdkit_scaffolds() -> Any:
    from rdkit.Chem.Scaffolds import MurckoScaffold

    return MurckoScaffold
