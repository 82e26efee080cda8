"""The progress of a job: a bar of its votes, or the caller's own function."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from ellzero.core.progress import Progress, show_progress
from ellzero.core.schemas import JobAnswer

ProgressCallback = Callable[[JobAnswer], None]
"""Called with every state of a job."""


@contextmanager
def report_progress(progress: ProgressCallback | bool) -> Iterator[ProgressCallback | None]:
    """The function to call with every state of a job: the caller's own, one that moves a bar if True, or None."""
    if progress is not True:
        yield progress or None
        return
    with ExitStack() as stack:
        yield _VotesBar(stack).update


class _VotesBar:
    """A bar that ``stack`` closes. It opens with the first state of the job, which says how many votes there may be."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._progress: Progress | None = None
        self._steps = 0

    def update(self, job: JobAnswer) -> None:
        if self._progress is None:
            self._progress = self._stack.enter_context(show_progress(job.votes_at_most, "votes", job.eta_seconds))
        # A job that is done early needed fewer votes than it might have: its bar is full anyway.
        steps = job.votes_at_most if job.state == "done" else job.votes
        self._progress.advance(steps - self._steps, done=job.votes)
        self._steps = steps
