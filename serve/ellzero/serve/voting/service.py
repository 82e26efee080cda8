"""Votes over HTTP: what is quick is answered at once, the rest becomes a job that can be asked for, and cancelled."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from ellzero.core.errors import EllzeroError, InvalidInput
from ellzero.core.schemas import (
    Example,
    ExamplesAnswer,
    JobAnswer,
    ModelsAnswer,
    NoisyAnswer,
)
from ellzero.core.text import format_duration
from ellzero.serve.lookup.request_models import MOST_SEED, ExamplesRequest, NoisyRequest, VotingRequest
from ellzero.serve.platform import deadline
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings, can_vote
from ellzero.serve.voting.job import VotingJob
from ellzero.serve.voting.job_store import LOST, JobStore

if TYPE_CHECKING:
    from ellzero.serve.voting.model_registry import ModelRegistry, ServedModel
    from ellzero.smoothing.models.card import ModelCard
    from ellzero.smoothing.sampling.batch_scheduler import PendingResult

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_NOTE_SECONDS = 1.0  # how often a job is written of
_SPARE_SECONDS = 1.0  # of a request's time, to write its answer
_RECORD = TypeAdapter(JobAnswer)


class VotingService:
    """All that a service does with models."""

    def __init__(self, settings: ServeSettings, metrics: Metrics, work: ThreadPool) -> None:
        self._settings, self._metrics, self._work = settings, metrics, work
        self._booths: ModelRegistry | None = None
        self._book: JobStore | None = None
        self._jobs: dict[str, VotingJob] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._finding = asyncio.Lock()

    def load(self) -> None:
        """Look which models there are. Those that ship wait until somebody asks: torch takes seconds and memory."""
        if self._settings.models is not None or self._booths is not None:
            self._find()

    def close(self) -> None:
        """End all votes; jobs that others have heard of are lost, and say so."""
        for watcher in self._watchers:
            watcher.cancel()
        for job in list(self._jobs.values()):
            if job.noted and not job.over.done():
                self._note(job, lost=True)
        if self._booths is not None:
            self._booths.close()

    async def models(self) -> ModelsAnswer:
        """The models that there are."""
        booths = await self._found()
        return ModelsAnswer(models=[] if booths is None else booths.infos())

    async def examples(self, question: ExamplesRequest) -> ExamplesAnswer:
        """Inputs to try a model on."""
        card = self._card(await self._known(), question.model)
        return await self._work.do(_examples, question.model, card)

    async def noisy(self, question: NoisyRequest) -> NoisyAnswer:
        """An example under noise."""
        card = self._card(await self._known(), question.model)
        return await self._work.do(_noisy, question, card)

    async def begin(self, question: VotingRequest, x: Any) -> VotingJob:
        """Take the votes of a request."""
        booths = await self._known()
        self._card(booths, question.model)
        booth = await self._work.aside(self._booth, booths, question.model)
        seed = secrets.randbelow(MOST_SEED + 1) if question.seed is None else question.seed
        ballots = await self._work.do(booth.ballots, question, x, seed)
        votes = sum(ballot.total for ballot in ballots)
        if votes > self._settings.max_votes:
            limit = self._settings.max_votes
            detail = f"this asks for {votes:,} votes, and a request may ask for {limit:,}; ask for fewer, or in parts"
            raise HttpProblem(422, detail, "too-costly", limit_votes=limit)
        if len(ballots) > self._settings.max_open_inputs:
            raise InvalidInput("x", f"at most {self._settings.max_open_inputs} inputs", len(ballots))
        self._afford(booth.look_seconds(ballots))
        job = VotingJob(question, booth, self._submitted(booth, ballots), seed)
        self._jobs[job.id] = job
        job.over.add_done_callback(lambda _: self._ended(job))
        return job

    async def settled(self, job: VotingJob, wait: float) -> bool:
        """Whether a job is over, waited for so many seconds, or as many as the request has."""
        seconds = max(0.0, min(wait, deadline.remaining() - _SPARE_SECONDS))
        await asyncio.wait([job.over], timeout=seconds)
        return job.over.done()

    async def announced(self, job: VotingJob) -> JobAnswer:
        """A job that others may ask for from now on, in whatever process they come to."""
        if not job.noted:
            try:
                await self._work.do(self._note, job)
            except BaseException:
                job.cancel()  # nobody will hear of it
                raise
            job.noted = True
            self._jobs[job.id] = job
            job.watcher = asyncio.create_task(self._watch(job))
            self._watchers.add(job.watcher)
            job.watcher.add_done_callback(self._watchers.discard)
        return job.answer()

    async def find(self, job: str, wait: float) -> JobAnswer:
        """The job of this id as it is now, or as it is when it is over."""
        mine = self._jobs.get(job)
        if mine is not None:
            if await self.settled(mine, wait):
                await self._written(mine)
            return mine.answer()
        until = time.monotonic() + min(wait, max(0.0, deadline.remaining() - _SPARE_SECONDS))
        while True:
            found = await self._read(job)
            if found.state not in ("waiting", "running") or time.monotonic() >= until:
                return found
            await asyncio.sleep(min(_NOTE_SECONDS / 2, max(0.0, until - time.monotonic())))

    async def cancel(self, job: str) -> JobAnswer:
        """End a job, in whatever process it is. What is over already stays as it is."""
        mine = self._jobs.get(job)
        if mine is None:
            found = await self._read(job)
            if found.state in ("waiting", "running") and self._book is not None:
                await self._work.do(self._book.ask_to_cancel, job)
                return await self.find(job, 2 * _NOTE_SECONDS)
            return found
        mine.cancel()
        await asyncio.wait([mine.over])
        await self._written(mine)
        return mine.answer()

    async def _written(self, job: VotingJob) -> None:
        """Nobody hears that a job is over before the book has it: another process must not say later that it runs."""
        if job.watcher is not None:
            await asyncio.wait([job.watcher], timeout=_NOTE_SECONDS)

    async def _read(self, job: str) -> JobAnswer:
        # Of other processes' jobs the book tells, and needs no models for it.
        book = await self._prepared(self._opened_book) if can_vote() else None
        record = None if book is None else await self._work.do(book.read, job)
        if record is None:
            raise HttpProblem(404, "there is no job of this id, or it is more than a week old")
        return _RECORD.validate_python(record)

    def _find(self) -> None:
        book = self._opened_book()
        from ellzero.serve.voting.model_registry import ModelRegistry

        booths = self._booths or ModelRegistry(self._settings, self._metrics)
        booths.load()
        book.sweep()
        self._booths = booths
        _LOG.info("models found", extra={"fields": {"models": len(booths.infos())}})

    def _opened_book(self) -> JobStore:
        if self._book is None:
            self._book = JobStore(self._settings.jobs)
        return self._book

    async def _found(self) -> "ModelRegistry | None":
        """The models, those that ship too if this installation can run them."""
        async with self._finding:
            if self._booths is None and can_vote():
                await self._prepared(self._find)
        return self._booths

    async def _prepared(self, how: Callable[[], T]) -> T:
        """What models need; that it cannot be had is no fault of whoever asks first."""
        try:
            return await self._work.aside(how)
        except (EllzeroError, OSError):
            _LOG.exception("the models cannot be used")
            raise HttpProblem(503, "the models of this service cannot be used; its log says why") from None

    async def _known(self) -> "ModelRegistry":
        booths = await self._found()
        if booths is None:
            raise HttpProblem(
                404, "this service has no models; ELLZERO_SERVE_MODELS names a folder of them", field="model"
            )
        return booths

    def _card(self, booths: "ModelRegistry", name: str) -> "ModelCard":
        from ellzero.smoothing.errors import UnknownModel

        try:
            return booths.card(name)
        except UnknownModel as error:
            raise HttpProblem(404, str(error), field="model") from None

    def _booth(self, booths: "ModelRegistry", name: str) -> "ServedModel":
        from ellzero.smoothing.errors import BadModelFile, UnknownModel

        try:
            return booths.booth(name)
        except (BadModelFile, UnknownModel) as error:
            _LOG.exception("a model cannot be loaded")
            raise HttpProblem(500, f"the model {name} cannot be loaded: {error}") from None

    def _afford(self, seconds: float) -> None:
        """Refuse noises whose radii would keep all who vote with this model waiting while they are looked up."""
        if seconds > self._settings.max_seconds:
            detail = f"with this α and n looking up radii would take about {format_duration(seconds)}; ask for less"
            raise HttpProblem(422, detail, "too-costly", limit_seconds=self._settings.max_seconds)

    def _submitted(self, booth: "ServedModel", ballots: list[Any]) -> "list[PendingResult]":
        from ellzero.serve.voting.model_registry import too_many
        from ellzero.smoothing.errors import SchedulerClosed, SchedulerFull

        try:
            return booth.hall.submit(ballots)
        except SchedulerFull:
            raise too_many(booth) from None
        except SchedulerClosed:
            detail = "the votes of this model are being closed; ask again"
            raise HttpProblem(503, detail, headers={"retry-after": "5"}) from None

    def _ended(self, job: VotingJob) -> None:
        job.ended = time.monotonic()
        answer = job.answer()
        self._metrics.jobs.labels(answer.kind, answer.state).inc()
        if answer.state == "failed":
            _LOG.warning("votes failed", extra={"fields": {"job": job.id, "reason": answer.reason}})
        if not job.noted:  # nobody knows its id; of others its watcher writes the end first
            self._jobs.pop(job.id, None)

    async def _watch(self, job: VotingJob) -> None:
        """Write of a job until it is over, and look whether somebody wants it cancelled."""
        assert self._book is not None
        over = False
        while not over:
            await asyncio.wait([job.over], timeout=_NOTE_SECONDS)
            try:
                if not job.over.done() and await asyncio.to_thread(self._book.wants_cancel, job.id):
                    job.cancel()
                    await asyncio.wait([job.over])
                over = job.over.done()  # and is written of once more, for those who ask elsewhere
                await asyncio.to_thread(self._note, job)
                if over:
                    self._jobs.pop(job.id, None)  # the book has it; its inputs need not stay
            except Exception:
                _LOG.exception("a job could not be written of", extra={"fields": {"job": job.id}})

    def _note(self, job: VotingJob, lost: bool = False) -> None:
        if self._book is not None:
            answer = job.answer()
            if lost:
                answer = replace(answer, state="lost", reason=LOST, eta_seconds=None)
            self._book.write(job.id, asdict(answer))


def _examples(name: str, card: "ModelCard") -> ExamplesAnswer:
    from ellzero.serve.voting.examples import examples_of

    chosen = examples_of(name, card)
    inputs = chosen.inputs(range(len(chosen.labels))).tolist()
    listed = [
        Example(index, label, x) for index, (label, x) in enumerate(zip(chosen.labels.tolist(), inputs, strict=True))
    ]
    return ExamplesAnswer(model=name, data=chosen.name, examples=listed)


def _noisy(question: NoisyRequest, card: "ModelCard") -> NoisyAnswer:
    from ellzero.serve.voting.examples import examples_of, noise_for, noisy_example

    noise = noise_for(card, question.alpha)
    x = noisy_example(examples_of(question.model, card), question.example, noise, question.seed)
    return NoisyAnswer(
        model=question.model, index=question.example, x=x, noise=dict(noise.description()), seed=question.seed
    )
