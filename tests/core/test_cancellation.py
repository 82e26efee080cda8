"""Long work stops when it should, and only then."""

import threading
from collections.abc import Callable
from fractions import Fraction

import pytest

from ellzero.certificates import Discrete, Votes, column, plan, radius, radius_from_votes, rho, thresholds
from ellzero.certificates.single_threshold import complement
from ellzero.core.cancellation import cancel_when, check_cancelled
from ellzero.core.errors import Stopped

# Minutes or hours each, unless they are stopped.
SLOW = Discrete(1, "0.5000001")
ENDLESS: dict[str, Callable[[], object]] = {
    "column": lambda: column(SLOW),
    "radius": lambda: radius(SLOW, "0.9999999", 2**31 - 1),
    "two classes": lambda: radius(SLOW, "0.6", 2**31 - 1, "0.0001"),
    "votes": lambda: radius_from_votes(SLOW, Votes(500, 1000, "0.9"), 2**31 - 1),
    "one threshold": lambda: thresholds(SLOW, [10**8]),
    "one exact threshold": lambda: complement(SLOW, 10**5),
    "exact rho": lambda: rho(SLOW, 10**5, Fraction(2, 3)),
    "plan": lambda: plan(SLOW, 10**6, "0.99"),
}


@pytest.mark.parametrize("work", ENDLESS.values(), ids=ENDLESS)
def test_work_stops_soon_after_it_should(work: Callable[[], object]) -> None:
    checks = 0

    def should_stop() -> bool:
        nonlocal checks
        checks += 1
        return checks > 20

    with cancel_when(should_stop), pytest.raises(Stopped):
        work()
    assert checks == 21


def test_work_that_nobody_stops_has_its_result() -> None:
    with cancel_when(lambda: False):
        assert radius(Discrete(255, "0.2"), "0.99", 150528) == 3


def test_cancellation_is_limited_to_its_block_and_thread() -> None:
    with cancel_when(lambda: True):
        other = threading.Thread(target=check_cancelled)
        other.start()
        other.join()
        with cancel_when(lambda: False):
            check_cancelled()
        with pytest.raises(Stopped):
            check_cancelled()
    check_cancelled()
