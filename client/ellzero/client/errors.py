"""The errors of the client, each a message of one line.

The tree::

    ClientError (EllzeroError)
    ├── UnsendableValue (InvalidInput)       a value that cannot be sent; no request was made
    ├── ServerUnreachable (ConnectionError)  no connection, or it broke before the answer was complete
    ├── RequestTimeout (TimeoutError)        no answer in time
    ├── BadReply                             a reply from something else: a proxy's page, or another version
    ├── JobEnded (RuntimeError)              a job that ended without a result: failed, cancelled or lost
    └── ProblemReply                         the service answered with a problem
        ├── RejectedInput (InvalidInput)     400, 422: a value outside what its field allows, or a broken request
        ├── TooCostly                        422: the answer would take longer than the service allows
        ├── NotAuthorised (PermissionError)  401, 403: no API key, or the wrong one
        ├── Overloaded                       429, 503: the service has too much to do, or is not ready yet
        └── ServerFault                      any other 5xx: a defect of the service, or of something in front of it

Other statuses are plain ``ProblemReply``. Constructors take positional arguments only, so that an error survives
pickling on its way back from a worker process.
"""

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.schemas import Problem

_LONGEST = 300


class ClientError(EllzeroError):
    """Base of everything that the client raises on purpose."""


class UnsendableValue(ClientError, InvalidInput):
    """``field`` must be ``allowed``, and ``value`` is not, so no request was sent."""


class ServerUnreachable(ClientError, ConnectionError):
    """No answer came from ``url``, for this ``reason``."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"no service answers at {self.url}: {self.reason}"


class RequestTimeout(ClientError, TimeoutError):
    """``url`` kept the client waiting for more than ``seconds``."""

    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(url, seconds)
        self.url = url
        self.seconds = seconds

    def __str__(self) -> str:
        return f"no answer from {self.url} within {self.seconds:g} seconds"


class BadReply(ClientError):
    """The answer of ``url`` is not one that this client understands, for this ``reason``."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.url} did not answer as an ellzero service does: {self.reason}"


class JobEnded(ClientError, RuntimeError):
    """The job ``id`` is ``state`` (failed, cancelled or lost), for this ``reason``."""

    def __init__(self, job: str, state: str, reason: str) -> None:
        super().__init__(job, state, reason)
        self.id = job
        self.state = state
        self.reason = reason

    def __str__(self) -> str:
        return f"job {self.id} is {self.state}: {self.reason}"


class ProblemReply(ClientError):
    """The service answered with a `Problem`, whose most used members are attributes of the error as well.

    ``retry_after`` is the number of seconds after which the service asked to try again, if it did.
    """

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        # Not super(): `InvalidInput`, a base of `RejectedInput`, takes other arguments.
        Exception.__init__(self, problem, retry_after)
        self.problem = problem
        self.retry_after = retry_after
        self.status = problem.status
        self.kind = problem.kind
        self.detail = problem.detail
        self.request_id = problem.request_id or None
        self.field = problem.field
        self.value = problem.value
        self.allowed = problem.allowed

    def __str__(self) -> str:
        request = f", request {self.request_id}" if self.request_id else ""
        return f"{self.detail} (HTTP {self.status}{request})"


class RejectedInput(ProblemReply, InvalidInput):  # type: ignore[misc]  # a broken request has no field
    """The service does not allow a value (see ``field``, ``value``, ``allowed``), or could not read the request."""


class TooCostly(ProblemReply):
    """The answer would take longer than the service allows: ``limit_seconds``, if it said so."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        super().__init__(problem, retry_after)
        self.limit_seconds = problem.limit_seconds


class NotAuthorised(ProblemReply, PermissionError):
    """The service requires an API key, or a different one."""


class Overloaded(ProblemReply):
    """The service cannot answer now; it may after ``retry_after`` seconds, if it said so."""


class ServerFault(ProblemReply):
    """The service, or something in front of it, failed. ``request_id`` finds the request in its log."""


def make_problem_reply(problem: Problem, retry_after: float | None) -> ProblemReply:
    """Return the error of the tree that stands for ``problem``."""
    kinds: dict[int, type[ProblemReply]] = {
        400: RejectedInput,
        401: NotAuthorised,
        403: NotAuthorised,
        422: TooCostly if problem.kind == "too-costly" else RejectedInput,
        429: Overloaded,
        503: Overloaded,
    }
    otherwise = ServerFault if problem.status >= 500 else ProblemReply
    return kinds.get(problem.status, otherwise)(problem, retry_after)


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Return ``text`` as one printable line of bounded length: replies come from elsewhere, errors go to terminals."""
    line = "".join(letter if letter.isprintable() else "�" for letter in " ".join(text.split()))
    return line if len(line) <= longest else line[: longest - 3] + "..."
