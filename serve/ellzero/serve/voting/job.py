"""The votes of one request, as its caller is told of them."""

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ellzero.core.schemas import (
    CertifyAnswer,
    InputCertificate,
    InputPrediction,
    JobAnswer,
    JobState,
    PredictAnswer,
)
from ellzero.serve.lookup.request_models import CertifyRequest, VotingRequest

if TYPE_CHECKING:
    from ellzero.serve.voting.model_registry import ServedModel
    from ellzero.smoothing.sampling.batch_scheduler import PendingResult


class VotingJob:
    """The votes of one request."""

    def __init__(
        self, question: VotingRequest, booth: "ServedModel", tickets: "list[PendingResult]", seed: int
    ) -> None:
        self.id = uuid4().hex
        self.question, self.booth, self.tickets, self.seed = question, booth, tickets, seed
        self.started = time.monotonic()
        self.noted = False  # whether others may have heard of it
        self.ended: float | None = None
        self.watcher: asyncio.Task[None] | None = None  # writes of it once it is noted
        self.over = asyncio.gather(*(asyncio.wrap_future(ticket.future) for ticket in tickets), return_exceptions=True)

    @property
    def seconds(self) -> float:
        return (self.ended or time.monotonic()) - self.started

    def answer(self) -> JobAnswer:
        """The job as it is now."""
        results = [ticket.future for ticket in self.tickets]
        state: JobState = "running" if any(ticket.first_votes for ticket in self.tickets) else "waiting"
        reason = None
        if self.over.done():
            state = "done"
            for future in results:
                if future.cancelled():
                    state, reason = "cancelled", "somebody cancelled it"
                elif (error := future.exception()) is not None:
                    state, reason = "failed", str(error)
        done = sum(ticket.task.done for ticket in self.tickets)
        total = sum(ticket.task.total for ticket in self.tickets)
        answer = JobAnswer(
            id=self.id,
            kind="certify" if isinstance(self.question, CertifyRequest) else "predict",
            state=state,
            model=self.booth.name,
            votes=done,
            votes_at_most=total,
            counts=[list(ticket.task.counts) for ticket in self.tickets],
            seconds=self.seconds,
            eta_seconds=self._eta(total - done) if state in ("waiting", "running") else None,
            reason=reason,
        )
        if state != "done":
            return answer
        found = [future.result() for future in results]
        if isinstance(self.question, CertifyRequest):
            return replace(answer, certificate=self._certified(self.question, found))
        return replace(answer, prediction=self._predicted(found))

    @property
    def closed(self) -> bool:
        """Whether it ended because the service did."""
        from ellzero.smoothing.errors import SchedulerClosed

        ended = [ticket.future for ticket in self.tickets if ticket.future.done() and not ticket.future.cancelled()]
        return any(isinstance(future.exception(), SchedulerClosed) for future in ended)

    def cancel(self) -> None:
        for ticket in self.tickets:
            ticket.cancel()

    def _eta(self, votes: int) -> float | None:
        """Others take their turns between."""
        rate = self.booth.hall.votes_per_second
        share = max(1.0, len(self.booth.hall) / len(self.tickets))
        return None if rate is None else votes * share / rate

    def _certified(self, question: CertifyRequest, found: list[Any]) -> CertifyAnswer:
        return CertifyAnswer(
            results=[
                InputCertificate(
                    prediction=None if each.radius is None else each.prediction,
                    radius=each.radius,
                    selected=each.selected,
                    count=each.count,
                    drawn=each.drawn,
                    counts=list(each.counts),
                    selection=list(each.selection),
                    lower_bound=each.lower_bound,
                    upper_bound=each.upper_bound,
                    other_radii=dict(each.other_radii),
                )
                for each in found
            ],
            model=self.booth.name,
            sha256=self.booth.digest,
            n0=question.n0,
            n=question.n,
            failure=str(found[0].failure),
            seed=self.seed,
            stopping=question.stopping,
            runner_up=question.runner_up,
            noise=dict(found[0].noise),
            d=found[0].d,
            seconds=self.seconds,
        )

    def _predicted(self, found: list[Any]) -> PredictAnswer:
        return PredictAnswer(
            results=[
                InputPrediction(
                    prediction=None if each.prediction < 0 else each.prediction,
                    counts=list(each.counts),
                    drawn=each.drawn,
                )
                for each in found
            ],
            model=self.booth.name,
            sha256=self.booth.digest,
            n=self.question.n,
            failure=str(found[0].failure),
            seed=self.seed,
            noise=dict(found[0].noise),
            seconds=self.seconds,
        )
