"""The sentences that certificates claim."""

from fractions import Fraction
from typing import Any

import pytest

from ellzero.audit.claims import read_budget, write_budget, write_claim

START = "With probability at least {} over the votes, the smoothed classifier "


@pytest.mark.parametrize(
    ("failure", "top_k", "budgets", "unit", "protected", "sentence"),
    [
        (
            "1/1000",
            1,
            [4],
            "coordinate",
            0,
            START.format("0.999")
            + "answers class 3 on every input that differs from this one in at most 4 of its 784 coordinates.",
        ),
        (
            "1/3",
            5,
            [0],
            "pixel",
            7,
            START.format("2/3")
            + "has class 3 among its 5 most probable ones on every input that differs from this one "
            "in at most 0 of its 784 pixels, the 7 protected ones unchanged.",
        ),
        (
            "1/8",
            1,
            [2],
            "edit",
            0,
            START.format("0.875") + "answers class 3 on every sequence of at most 784 symbols that is at most 2 "
            "insertions, deletions and substitutions away from this one.",
        ),
        (
            "1/100",
            1,
            [{"add": 0, "delete": 4}, {"add": 1, "delete": 3}],
            "coordinate",
            0,
            START.format("0.99") + "answers class 3 on every input that differs from this one, of 784 coordinates, by "
            "at most add 0, delete 4; or by at most add 1, delete 3.",
        ),
    ],
)
def test_the_sentence_says_what_the_fields_say(
    failure: str, top_k: int, budgets: list[Any], unit: str, protected: int, sentence: str
) -> None:
    assert write_claim(Fraction(failure), 3, top_k, budgets, ("add", "delete"), unit, 784, protected) == sentence


def test_budgets_name_every_kind_and_nothing_else() -> None:
    axes = ("edges.add", "edges.delete", "words")
    budget = write_budget(axes, (1, 2, 3))
    assert budget == {"edges": {"add": 1, "delete": 2}, "words": 3}
    assert read_budget(axes, budget) == (1, 2, 3)
    for other in ({}, {**budget, "more": 1}, {**budget, "words": -1}, {**budget, "words": True}, {"words": 3}, 4, None):
        assert read_budget(axes, other) is None
