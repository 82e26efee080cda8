"""Chunks of inputs. What a store reads and writes: tests/smoothing/runs/test_result_store.py."""

import pytest

from ellzero.core.part_store import split_chunks


@pytest.mark.parametrize(
    ("missing", "expected"),
    [
        (range(40), [range(16), range(16, 32), range(32, 40)]),
        ([3, 4, 15, 16, 17, 40], [range(3, 5), range(15, 16), range(16, 18), range(40, 41)]),
        ([], []),
    ],
)
def test_missing_inputs_are_split_into_chunks_of_consecutive_ones(missing: list[int], expected: list[range]) -> None:
    assert split_chunks(missing) == expected
