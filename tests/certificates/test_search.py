"""The last place where a condition holds that is never regained."""

from hypothesis import given, strategies as st

from ellzero.certificates._search import last_true


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_last_place_is_found(low: int, holds_for: int, room: int) -> None:
    last, high = low + holds_for, low + room
    asked: list[int] = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n <= last

    assert last_true(holds, low, high) == min(last, high)
    assert all(low < n <= high for n in asked)
    assert len(asked) <= 2 * (min(holds_for, room) + 1).bit_length() + 1
