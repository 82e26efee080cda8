"""What can be wrong with a table, each said in one line."""

import pickle

import pytest

import ellzero.tables as tables
from ellzero.core import EllzeroError


@pytest.mark.parametrize(
    ("error", "builtin", "text"),
    [
        (tables.NotATable("there", "holds no table"), LookupError, "there holds no table"),
        (tables.DamagedShard("x", "is damaged"), ValueError, "shard x is damaged"),
        (
            tables.NewerFormat("x", 3, 1),
            ValueError,
            "shard x has format 3, and this ellzero reads up to 1: upgrade ellzero",
        ),
        (tables.InvalidManifest("there", "is no JSON"), ValueError, "the manifest there is no JSON"),
        (tables.Contradiction("K = 1"), ArithmeticError, "shards disagree about K = 1"),
        (tables.StorageFailed("there", "full"), EllzeroError, "there: full"),
    ],
)
def test_errors_say_one_line_and_survive_the_way_back_from_a_worker(
    error: EllzeroError, builtin: type, text: str
) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert str(error).startswith(text)
    assert "\n" not in str(error)
    assert isinstance(error, builtin)
    assert isinstance(error, EllzeroError)
