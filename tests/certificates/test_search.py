"""The last place where a condition holds that is never regained."""

from hypothesis import given, strategies as st

from ellzero.certificates.search import last_true, last_true_near


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


@given(st.integers(-1, 1000), st.integers(0, 1000), st.integers(0, 1000), st.integers(-2000, 4000))
def test_the_last_place_is_found_from_any_guess(low: int, holds_for: int, room: int, guess: int) -> None:
    last, high = low + holds_for, low + room
    asked: list[int] = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n <= last

    found = last_true_near(holds, guess, low, high)
    assert found == min(last, high)
    assert all(low < n <= high for n in asked)
    error = abs(found - min(max(guess, low), high))
    assert len(asked) <= 2 * (error + 1).bit_length() + 2
    if error == 0:
        assert len(asked) <= 2
