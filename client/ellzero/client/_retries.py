"""When to ask again, and after how long. Every question may be repeated: answering it changes nothing, and votes that
were begun for a caller whose connection broke are ended.

Asked again is after a connection that could not be made or broke, and after 429, 502, 503, 504: those pass. Not after
other errors, which would come again, and not after waiting in vain for an answer, be it here or that the service says
it took too long: that would multiply the wait, and the work.
"""

from random import uniform

import httpx2

from ellzero.client._responses import problem_in, retry_after

LONGEST_WAIT = 30.0
_FIRST_WAIT = 0.1
_LONGEST_OWN_WAIT = 5.0
_PASSING = (429, 502, 503, 504)
_TOOK_TOO_LONG = "timeout"  # the kind of problem
_BROKEN = (httpx2.ConnectTimeout, httpx2.NetworkError, httpx2.ProxyError, httpx2.RemoteProtocolError)


class Retries:
    """The attempts at one request: at most ``most`` after the first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made = 0

    def wait(self, outcome: httpx2.Response | httpx2.RequestError) -> float | None:
        """The seconds to wait before the next attempt; None if ``outcome`` has to do.

        A service that says when it wants to be asked again (Retry-After) is obeyed, or left alone if that is more than
        ``LONGEST_WAIT`` away. Otherwise waits double, each by chance up to a half shorter, so that many clients that
        failed together do not come back together.
        """
        if self._made >= self._most:
            return None
        told = None
        if isinstance(outcome, httpx2.Response):
            if outcome.status_code not in _PASSING or problem_in(outcome).kind == _TOOK_TOO_LONG:
                return None
            told = retry_after(outcome)
            if told is not None and told > LONGEST_WAIT:
                return None
        elif not isinstance(outcome, _BROKEN):
            return None
        own = min(_FIRST_WAIT * 2.0**self._made, _LONGEST_OWN_WAIT) * uniform(0.5, 1.0)
        self._made += 1
        return own if told is None else told + own
