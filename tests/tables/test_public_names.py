"""The names that users import: a small list, kept on purpose."""

import pickle

import pytest

import ellzero.tables as tables


def test_every_public_name_exists_and_is_documented() -> None:
    assert tables.__all__ == sorted(tables.__all__)
    for name in tables.__all__:
        if name != "ABSTAIN":
            assert getattr(tables, name).__doc__, name
    assert tables.ABSTAIN == -1


def test_the_package_shows_no_other_public_functions() -> None:
    shown = {
        name
        for name, value in vars(tables).items()
        if not name.startswith("_")
        and getattr(value, "__module__", "").startswith("ellzero")
        and name not in tables.__all__
    }
    assert shown == set()


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
        (tables.Contradiction("K = 1"), ArithmeticError, "shards disagree about K = 1"),
        (tables.StorageFailed("there", "full"), tables.TableError, "there: full"),
    ],
)
def test_errors_say_one_line_and_survive_the_way_back_from_a_worker(
    error: tables.TableError, builtin: type, text: str
) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert str(error).startswith(text)
    assert "\n" not in str(error)
    assert isinstance(error, builtin)
    assert isinstance(error, tables.TableError)
