"""The votes of one request, and how they are reported."""

import asyncio
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ellzero.core.schemas import (
    CertificateLook,
    CertifyAnswer,
    InputCertificate,
    InputPrediction,
    JobAnswer,
    JobState,
    PredictAnswer,
)
from ellzero.serve.voting.request_models import CertifyRequest, VotingRequest

if TYPE_CHECKING:
    from ellzero.serve.voting.model_registry import ServedModel
    from ellzero.smoothing.sampling.sampling_task import SamplingTask


class VotingJob:
    """The votes of one request."""

    def __init__(
        self,
        request: VotingRequest,
        model: "ServedModel",
        tasks: "list[SamplingTask[Any]]",
        futures: "list[Future[Any]]",
        seed: int,
    ) -> None:
        self.id = uuid4().hex
        self.request, self.model, self.seed = request, model, seed
        self.tasks, self.futures = tasks, futures
        self.started = time.monotonic()
        self.published = False  # whether a client may know its id
        self.ended: float | None = None
        self.watcher: asyncio.Task[None] | None = None  # writes its record once it is published
        self._documents: list[str | None] = [None] * len(tasks)
        self.finished = asyncio.ensure_future(self._finish())

    @property
    def seconds(self) -> float:
        """Return how long the job has run."""
        return (self.ended or time.monotonic()) - self.started

    @property
    def state(self) -> tuple[JobState, str | None]:
        """Return the state, and the reason if the job failed or was cancelled."""
        if not self.finished.done():
            return ("running" if any(task.done for task in self.tasks) else "waiting"), None
        for future in self.futures:
            if future.cancelled():
                return "cancelled", "it was cancelled"
            if (error := future.exception()) is not None:
                return "failed", str(error)
        if (error := self.finished.exception()) is not None:
            return "failed", str(error)
        return "done", None

    @property
    def closed_by_shutdown(self) -> bool:
        """Return whether it ended because the service did."""
        from ellzero.smoothing.errors import SchedulerClosed

        return self._ended_by(SchedulerClosed)

    @property
    def failed_in_model(self) -> bool:
        """Return whether it ended because the model failed, rather than anything of ellzero's own."""
        from ellzero.smoothing.errors import ModelFailed

        return self._ended_by(ModelFailed)

    def cancel(self) -> None:
        """Take no more votes."""
        for future in self.futures:
            future.cancel()

    def result(self) -> CertifyAnswer | PredictAnswer:
        """Return the answer of a job that is done."""
        results = [future.result() for future in self.futures]
        if isinstance(self.request, CertifyRequest):
            return self._make_certify_answer(self.request, results)
        return self._make_predict_answer(results)

    def report(self) -> JobAnswer:
        """Return the job as it is now, with its answer once it is done."""
        state, reason = self.state
        done = sum(task.done for task in self.tasks)
        total = sum(task.total for task in self.tasks)
        report = JobAnswer(
            id=self.id,
            kind="certify" if isinstance(self.request, CertifyRequest) else "predict",
            state=state,
            model=self.model.name,
            votes=done,
            votes_at_most=total,
            counts=[list(task.counts) for task in self.tasks],
            seconds=self.seconds,
            eta_seconds=self._estimate_seconds_left(total - done) if state in ("waiting", "running") else None,
            reason=reason,
        )
        if state != "done":
            return report
        answer = self.result()
        if isinstance(answer, CertifyAnswer):
            return replace(report, certificate=answer)
        return replace(report, prediction=answer)

    async def _finish(self) -> None:
        """Wait for all votes, and write the documents of certificates in a thread: each takes milliseconds."""
        wrapped = map(asyncio.wrap_future, self.futures)
        results = await asyncio.gather(*wrapped, return_exceptions=True)
        is_wanted = isinstance(self.request, CertifyRequest) and self.request.certificate
        if is_wanted and not any(isinstance(result, BaseException) for result in results):
            self._documents = await asyncio.to_thread(self._write_documents, results)

    def _write_documents(self, results: list[Any]) -> list[str | None]:
        """Return the document of each certificate, None for abstentions."""
        from ellzero.smoothing.documents import make_certificate

        pairs = zip(results, self.tasks, strict=True)
        return [
            None
            if result.radius is None
            else make_certificate(result, self.model.digest, task.x, protected=task.protected).encode().decode()
            for result, task in pairs
        ]

    def _ended_by(self, kind: type[Exception]) -> bool:
        ended = [future for future in self.futures if future.done() and not future.cancelled()]
        return any(isinstance(future.exception(), kind) for future in ended)

    def _estimate_seconds_left(self, votes: int) -> float | None:
        """Estimate the time for so many votes; other requests share the model meanwhile."""
        scheduler = self.model.scheduler
        share = max(1.0, len(scheduler) / len(self.tasks))
        return None if scheduler.votes_per_second is None else votes * share / scheduler.votes_per_second

    def _make_certify_answer(self, request: CertifyRequest, results: list[Any]) -> CertifyAnswer:
        return CertifyAnswer(
            results=[
                InputCertificate(
                    prediction=None if result.radius is None else result.prediction,
                    radius=result.radius,
                    selected=result.selected,
                    count=result.count,
                    drawn=result.drawn,
                    counts=list(result.counts),
                    selection=list(result.selection),
                    lower_bound=result.lower_bound,
                    upper_bound=result.upper_bound,
                    other_radii=dict(result.other_radii),
                    looks=[
                        CertificateLook(n=look.n, failure=str(look.failure), count=look.count) for look in result.looks
                    ],
                    document=document,
                )
                for result, document in zip(results, self._documents, strict=True)
            ],
            model=self.model.name,
            sha256=self.model.digest,
            n0=request.n0,
            n=request.votes,
            failure=str(results[0].failure),
            seed=self.seed,
            stopping=request.stopping,
            runner_up=request.runner_up,
            noise=dict(results[0].noise),
            d=results[0].d,
            seconds=self.seconds,
        )

    def _make_predict_answer(self, results: list[Any]) -> PredictAnswer:
        return PredictAnswer(
            results=[
                InputPrediction(
                    prediction=None if result.prediction < 0 else result.prediction,
                    counts=list(result.counts),
                    drawn=result.drawn,
                )
                for result in results
            ],
            model=self.model.name,
            sha256=self.model.digest,
            n=self.request.votes,
            failure=str(results[0].failure),
            seed=self.seed,
            noise=dict(results[0].noise),
            seconds=self.seconds,
        )
