"""Ray's client of the job API, with time limits, and with errors of ours."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ellzero.core.errors import ClusterRefused, ClusterUnreachable, MissingExtra

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
_LONGEST_REASON = 300
_VARIABLE = "RAY_API_SERVER_ADDRESS"


def connect(address: str) -> Any:
    """A ``JobSubmissionClient`` for the head at ``address``, each request of which has a time limit.

    ``ClusterUnreachable`` within seconds where nothing answers as a Ray head does.
    """
    try:
        import aiohttp  # noqa: F401  # a Ray without its extra lacks it, and would say so only later
        from ray.job_submission import JobSubmissionClient
    except ImportError as missing:
        raise MissingExtra("submitting jobs", "cluster") from missing

    # Each upload is a line of these loggers otherwise.
    for chatty in ("ray.dashboard.modules.dashboard_sdk", "ray.dashboard.modules.job.sdk"):
        logging.getLogger(chatty).setLevel(logging.WARNING)

    class Bounded(JobSubmissionClient):
        """Ray's client sets no time limits, but passes them on."""

        def _do_request(self, *arguments: Any, **options: Any) -> Any:
            return super()._do_request(*arguments, **{"timeout": (CONNECT_SECONDS, ANSWER_SECONDS), **options})

    with translate_errors(address), _environment_address(address):
        try:
            return Bounded(address)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:  # a server that is not Ray's
            raise ClusterUnreachable(address) from error


@contextmanager
def translate_errors(address: str) -> Iterator[None]:
    """Raise what goes wrong in a request to the head at ``address`` as one of our errors."""
    from ray.exceptions import RayError

    try:
        yield
    except (ClusterUnreachable, ClusterRefused):
        raise
    except OSError as error:  # also the base of all errors of the HTTP library that Ray uses
        raise ClusterUnreachable(address) from error
    except (RayError, RuntimeError, ValueError) as error:
        raise ClusterRefused(address, last_line(str(error))) from error


def last_line(text: str) -> str:
    """The line of a traceback that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:_LONGEST_REASON] if lines else "no reason given"


@contextmanager
def _environment_address(address: str) -> Iterator[None]:
    """Put ``address`` into the environment for a moment: Ray prefers its variables to the address that it is given."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = address
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
