"""Evidence: which values go together, and the default failure."""

from typing import Any

import numpy as np
import pytest

from ellzero.core.errors import InvalidInput
from ellzero.core.evidence import Evidence, read_evidence


def test_a_probability_two_of_them_or_votes_are_evidence() -> None:
    assert read_evidence("0.99") == Evidence(p="0.99")
    assert read_evidence(0.9, 0.05) == Evidence(p=0.9, p_b=0.05)
    votes = read_evidence(count=90, n=100)
    assert votes == Evidence(count=90, n=100, failure="0.001")
    assert (votes.name, votes.values) == ("count", 90)
    assert read_evidence(count=[1, 2], n=3, failure=0.01).failure == 0.01
    assert read_evidence([0.9, "1"]).values == [0.9, "1"]


def test_lists_and_arrays_have_one_p_b_or_one_each() -> None:
    assert read_evidence([0.9, 0.8], [0.1, 0.2]).p_b == [0.1, 0.2]
    assert read_evidence(np.array([0.9, 0.8]), [0.1, 0.2]).p_b == [0.1, 0.2]
    assert read_evidence(np.array([[0.9, 0.8]]), "0.1").p_b == "0.1"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "p must be given, or count and n instead; got None"),
        ({"p": 0.9, "count": 1, "n": 2}, "p must be given without count and n, or left out; got 'all of them'"),
        ({"p": 0.9, "n": 5}, "p must be given without count and n, or left out; got 'p and n'"),
        ({"count": 1}, "n must be given with count; got None"),
        ({"n": 1}, "count must be given with n; got None"),
        ({"p": 0.9, "failure": 0.1}, "failure must be given with count and n only; got 0.1"),
        ({"count": 1, "n": 2, "p_b": 0.1}, "p_b must be given with p only; got 0.1"),
        ({"p": []}, "p must be at least one value; got []"),
        ({"count": [], "n": 2}, "count must be at least one value; got []"),
        ({"p": 0.9, "p_b": [0.1]}, "p_b must be one number, because p is one number; got [0.1]"),
        ({"p": [0.9], "p_b": [0.1, 0.2]}, "p_b must be one number, or as many as p has (1); got '2 numbers'"),
        (
            {"p": np.ones((1, 2)), "p_b": np.ones((2, 1))},
            "p_b must be one number, or an array of p's shape (1, 2); got (2, 1)",
        ),
    ],
)
def test_values_that_do_not_go_together_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_evidence(**values)
    assert str(caught.value) == message
