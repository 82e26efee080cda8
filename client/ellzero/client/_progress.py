"""The progress of a job as people at a terminal see it."""

import sys

from ellzero.core.schemas import JobAnswer


def show_progress(job: JobAnswer) -> None:
    """A line on standard error that is written over; silence in a pipe."""
    if not sys.stderr.isatty():
        return
    share = job.votes / max(1, job.votes_at_most)
    left = f", about {job.eta_seconds:,.0f} s left" if job.eta_seconds is not None else ""
    end = "" if job.state in ("waiting", "running") else "\n"
    sys.stderr.write(f"\r\x1b[K{job.kind} {job.model}: {job.state}, {job.votes:,} votes, {share:.0%}{left}{end}")
    sys.stderr.flush()
