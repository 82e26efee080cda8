"""Reading ahead: every batch in order, one ahead, and errors where the batch would have been."""

import threading

import pytest

from ellzero.smoothing.data.read_ahead import THREAD_NAME, read_ahead


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_batch_comes_with_its_content_in_order(count: int) -> None:
    batches = [f"batch {number}" for number in range(count)]
    assert list(read_ahead(str.upper, batches)) == [(batch, batch.upper()) for batch in batches]


def test_the_next_batch_is_read_meanwhile_and_no_other() -> None:
    started = [threading.Event() for _ in range(4)]

    def read(number: int) -> int:
        started[number].set()
        return number

    reading = read_ahead(read, range(4))
    for number in range(4):
        assert next(reading) == (number, number)
        if number < 3:
            assert started[number + 1].wait(timeout=60)
        assert not any(event.is_set() for event in started[number + 2 :])


def test_an_error_of_a_batch_comes_in_its_place() -> None:
    reading = read_ahead(lambda divisor: 6 // divisor, [1, 2, 0, 3])
    assert [next(reading), next(reading)] == [(1, 6), (2, 3)]
    with pytest.raises(ZeroDivisionError):
        next(reading)


def test_reading_stops_when_nobody_needs_more() -> None:
    read: list[int] = []
    reading = read_ahead(read.append, range(100))
    next(reading)
    reading.close()  # type: ignore[attr-defined]
    assert len(read) <= 2
    assert not any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate())
