"""Differences between the descriptions of two runs."""

from ellzero.core.manifest import list_differences


def test_every_value_that_differs_is_listed_by_its_dotted_name() -> None:
    there = {"n": 10, "noise": {"alpha": "0.8", "k": 1}, "seed": 0}
    here = {"n": 20, "noise": {"alpha": "0.9"}, "seed": 0}
    assert list_differences(there, here) == [
        "n is 10 there and 20 here",
        'noise.alpha is "0.8" there and "0.9" here',
        "noise.k is 1 there and missing here",
    ]


def test_equal_descriptions_have_none_and_more_may_be_said_at_the_first_level() -> None:
    assert list_differences({"a": {"b": [1]}, "new": 1}, {"a": {"b": [1]}}) == []
    assert list_differences({}, {"a": None, "b": 1}) == ["b is null there and 1 here"]
