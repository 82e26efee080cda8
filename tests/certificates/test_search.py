"""The last place where a condition holds that is never regained."""

from hypothesis import given, strategies as st

from ellzero.certificates.search import last_true, last_true_near


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_last_true_n_is_found(low: int, holds_for: int, width: int) -> None:
    last, high = low + holds_for, low + width
    calls: list[int] = []

    def holds(n: int) -> bool:
        calls.append(n)
        return n <= last

    assert last_true(holds, low, high) == min(last, high)
    assert all(low < n <= high for n in calls)
    assert len(calls) <= 2 * (min(holds_for, width) + 1).bit_length() + 1


@given(st.integers(-1, 1000), st.integers(0, 1000), st.integers(0, 1000), st.integers(-2000, 4000))
def test_the_last_true_n_is_found_from_any_guess(low: int, holds_for: int, width: int, guess: int) -> None:
    last, high = low + holds_for, low + width
    calls: list[int] = []

    def holds(n: int) -> bool:
        calls.append(n)
        return n <= last

    result = last_true_near(holds, guess, low, high)
    assert result == min(last, high)
    assert all(low < n <= high for n in calls)
    error = abs(result - min(max(guess, low), high))
    assert len(calls) <= 2 * (error + 1).bit_length() + 2
    if error == 0:
        assert len(calls) <= 2
