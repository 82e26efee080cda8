"""Votes over HTTP: quick requests are answered at once, the others become jobs that can be polled and cancelled."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from ellzero.core.errors import EllzeroError, InvalidInput, MissingExtra
from ellzero.core.schemas import (
    Example,
    ExamplesAnswer,
    JobAnswer,
    ModelsAnswer,
    NoisyAnswer,
    UnusableModel,
)
from ellzero.core.text import format_duration
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.middleware import get_remaining_seconds
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.thread_pool import ThreadPool
from ellzero.serve.settings import ServeSettings, can_vote
from ellzero.serve.voting.job import VotingJob
from ellzero.serve.voting.job_store import LOST, JobStore
from ellzero.serve.voting.request_models import MAX_SEED, ExamplesRequest, NoisyRequest, VotingRequest

if TYPE_CHECKING:
    from ellzero.serve.voting.model_registry import ModelRegistry, ServedModel

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_RECORD_SECONDS = 1.0  # how often a job's record is written
_SPARE_SECONDS = 1.0  # kept of a request's time for writing its answer
_RECORD = TypeAdapter(JobAnswer)
_DEMO_MODEL = "demo-digits"
_TORCH_MISSING = str(MissingExtra("voting", "predict", "torch"))


class VotingService:
    """Predictions, certificates and jobs of a service's models."""

    def __init__(
        self, settings: ServeSettings, metrics: Metrics, pool: ThreadPool, list_other_names: Callable[[], list[str]]
    ) -> None:
        self._settings, self._metrics, self._pool = settings, metrics, pool
        self._list_other_names = list_other_names
        self._registry: ModelRegistry | None = None
        self._store: JobStore | None = None
        self._jobs: dict[str, VotingJob] = {}
        self._watchers: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    def load(self) -> None:
        """Load or reload the models. The bundled one is loaded on first use: torch takes seconds and memory."""
        if (self._settings.models is not None and can_vote()) or self._registry is not None:
            self._open_registry()

    def close(self) -> None:
        """End all votes; the records of published jobs say that they are lost."""
        for watcher in self._watchers:
            watcher.cancel()
        for job in list(self._jobs.values()):
            if job.published and not job.finished.done():
                self._write_record(job, lost=True)
        if self._registry is not None:
            self._registry.close()

    async def models(self) -> ModelsAnswer:
        """Return the models, and those that cannot be used with the reason."""
        registry = await self._find_registry()
        if registry is None:
            networks = await self._pool.run(self._list_networks)
            return ModelsAnswer(models=[], unusable=[UnusableModel(name, _TORCH_MISSING) for name in networks])
        return ModelsAnswer(models=registry.list_models(), unusable=registry.list_unusable())

    async def examples(self, request: ExamplesRequest) -> ExamplesAnswer:
        """Return inputs to try a model on."""
        registry = await self._get_registry()
        return await self._pool.run(_list_examples, registry, request)

    async def noisy(self, request: NoisyRequest) -> NoisyAnswer:
        """Return an example with noise."""
        registry = await self._get_registry()
        return await self._pool.run(_make_noisy, registry, request)

    async def start(self, request: VotingRequest, x: Any) -> VotingJob:
        """Start taking the votes of a request."""
        registry = await self._get_registry()
        registry.get_card(request.model)
        model = await self._pool.run_aside(registry.get_model, request.model)
        seed = secrets.randbelow(MAX_SEED + 1) if request.seed is None else request.seed
        tasks = await self._pool.run(model.make_tasks, request, x, seed)
        self._check_limits(sum(task.total for task in tasks), len(tasks), model.estimate_check_seconds(tasks[0]))
        job = VotingJob(request, model, tasks, self._submit(model, tasks), seed)
        self._jobs[job.id] = job
        job.finished.add_done_callback(lambda _: self._finish(job))
        return job

    async def wait_for(self, job: VotingJob, wait: float) -> bool:
        """Wait for a job for so many seconds, or until the request's deadline; return whether the job has ended."""
        seconds = max(0.0, min(wait, get_remaining_seconds() - _SPARE_SECONDS))
        await asyncio.wait([job.finished], timeout=seconds)
        return job.finished.done()

    async def publish(self, job: VotingJob) -> JobAnswer:
        """Write a job's record, so that any worker can answer for it."""
        if not job.published:
            try:
                await self._pool.run(self._write_record, job)
            except BaseException:
                job.cancel()  # its client will not learn its id
                raise
            job.published = True
            self._jobs[job.id] = job
            job.watcher = asyncio.create_task(self._watch(job))
            self._watchers.add(job.watcher)
            job.watcher.add_done_callback(self._watchers.discard)
        return job.report()

    async def find_job(self, job: str, wait: float) -> JobAnswer:
        """Return a job as it is now, or when it has ended if that is within ``wait`` seconds."""
        mine = self._jobs.get(job)
        if mine is not None:
            if await self.wait_for(mine, wait):
                await self._wait_for_record(mine)
            return mine.report()
        until = time.monotonic() + min(wait, max(0.0, get_remaining_seconds() - _SPARE_SECONDS))
        while True:
            report = await self._read_record(job)
            if report.state not in ("waiting", "running") or time.monotonic() >= until:
                return report
            await asyncio.sleep(min(_RECORD_SECONDS / 2, max(0.0, until - time.monotonic())))

    async def cancel_job(self, job: str) -> JobAnswer:
        """Cancel a job, whichever worker runs it. A job that has ended stays as it is."""
        mine = self._jobs.get(job)
        if mine is None:
            report = await self._read_record(job)
            if report.state in ("waiting", "running") and self._store is not None:
                await self._pool.run(self._store.request_cancel, job)
                return await self.find_job(job, 2 * _RECORD_SECONDS)
            return report
        mine.cancel()
        await asyncio.wait([mine.finished])
        await self._wait_for_record(mine)
        return mine.report()

    async def _wait_for_record(self, job: VotingJob) -> None:
        """Wait until the record says that a job has ended: no other worker may report later that it runs."""
        if job.watcher is not None:
            await asyncio.wait([job.watcher], timeout=_RECORD_SECONDS)

    async def _read_record(self, job: str) -> JobAnswer:
        # The store knows the jobs of other workers; no models are needed for it.
        store = await self._prepare(self._open_store) if can_vote() else None
        record = None if store is None else await self._pool.run(store.read, job)
        if record is None:
            raise HttpProblem(404, "there is no job with this id, or it ended more than a week ago")
        return _RECORD.validate_python(record)

    def _open_registry(self) -> None:
        store = self._open_store()
        from ellzero.serve.voting.model_registry import ModelRegistry

        registry = self._registry or ModelRegistry(self._settings, self._metrics, self._list_other_names)
        registry.load()
        store.remove_old()
        self._registry = registry
        _LOG.info("models loaded", extra={"fields": {"models": len(registry.list_models())}})

    def _list_networks(self) -> list[str]:
        """Return the names of all networks, where torch is not installed."""
        folder = self._settings.models
        names = [] if folder is None else [path.stem for path in Path(folder).glob("*.safetensors")]
        return sorted({*names, _DEMO_MODEL})

    def _open_store(self) -> JobStore:
        if self._store is None:
            self._store = JobStore(self._settings.jobs)
        return self._store

    async def _find_registry(self) -> "ModelRegistry | None":
        """Return the models; None if torch is not installed."""
        async with self._opening:
            if self._registry is None and can_vote():
                await self._prepare(self._open_registry)
        return self._registry

    async def _prepare(self, open_it: Callable[[], T]) -> T:
        """Open what models need. If that fails it is the service's fault, not that of the first client."""
        try:
            return await self._pool.run_aside(open_it)
        except (EllzeroError, OSError):
            _LOG.exception("the models cannot be used")
            raise HttpProblem(503, "the models of this service cannot be used; its log says why") from None

    async def _get_registry(self) -> "ModelRegistry":
        registry = await self._find_registry()
        if registry is None:
            detail = f"this service cannot use models: {_TORCH_MISSING}"
            raise HttpProblem(422, detail, "model-unusable", field="model")
        return registry

    def _check_limits(self, votes: int, inputs: int, check_seconds: float) -> None:
        settings = self._settings
        if votes > settings.max_votes:
            detail = (
                f"this needs {votes:,} votes, and a request may take {settings.max_votes:,};"
                " request fewer, or split the request"
            )
            raise HttpProblem(422, detail, "too-costly", limit_votes=settings.max_votes)
        if inputs > settings.max_open_inputs:
            raise InvalidInput("x", f"at most {settings.max_open_inputs} inputs", inputs)
        if check_seconds > settings.max_seconds:  # all votes with this model would wait meanwhile
            duration = format_duration(check_seconds)
            detail = f"with this alpha and n, computing radii would take about {duration}; request less"
            raise HttpProblem(422, detail, "too-costly", limit_seconds=settings.max_seconds)

    def _submit(self, model: "ServedModel", tasks: list[Any]) -> "list[Future[Any]]":
        from ellzero.smoothing.errors import SchedulerClosed

        try:
            return model.submit(tasks)
        except SchedulerClosed:
            raise HttpProblem(503, "this model is being replaced; try again", headers={"retry-after": "5"}) from None

    def _finish(self, job: VotingJob) -> None:
        job.ended = time.monotonic()
        report = job.report()
        self._metrics.jobs.labels(report.kind, report.state).inc()
        if report.state == "failed":
            _LOG.warning("votes failed", extra={"fields": {"job": job.id, "reason": report.reason}})
        if not job.published:  # no client has its id; the watcher of other jobs writes their last record first
            self._jobs.pop(job.id, None)

    async def _watch(self, job: VotingJob) -> None:
        """Write a job's record until the job has ended, and cancel it if another worker got a request to."""
        assert self._store is not None
        ended = False
        while not ended:
            await asyncio.wait([job.finished], timeout=_RECORD_SECONDS)
            try:
                if not job.finished.done() and await asyncio.to_thread(self._store.is_cancel_requested, job.id):
                    job.cancel()
                    await asyncio.wait([job.finished])
                ended = job.finished.done()  # before the last record is written, which then says so
                await asyncio.to_thread(self._write_record, job)
                if ended:
                    self._jobs.pop(job.id, None)  # the store has it; its inputs need not stay in memory
            except Exception:
                _LOG.exception("the record of a job could not be written", extra={"fields": {"job": job.id}})

    def _write_record(self, job: VotingJob, lost: bool = False) -> None:
        if self._store is not None:
            report = job.report()
            if lost:
                report = replace(report, state="lost", reason=LOST, eta_seconds=None)
            self._store.write(job.id, asdict(report))


def _list_examples(registry: "ModelRegistry", request: ExamplesRequest) -> ExamplesAnswer:
    from ellzero.serve.voting.examples import load_examples

    name = request.model
    examples = load_examples(name, registry.get_card(name), registry.examples_path(name))
    inputs = examples.inputs(range(len(examples.labels))).tolist()
    listed = [
        Example(index, label, x) for index, (label, x) in enumerate(zip(examples.labels.tolist(), inputs, strict=True))
    ]
    return ExamplesAnswer(model=name, data=examples.name, examples=listed)


def _make_noisy(registry: "ModelRegistry", request: NoisyRequest) -> NoisyAnswer:
    from ellzero.serve.voting.examples import add_noise, load_examples
    from ellzero.serve.voting.model_registry import make_model_noise

    card = registry.get_card(request.model)
    noise = make_model_noise(card, request.alpha)
    examples = load_examples(request.model, card, registry.examples_path(request.model))
    x = add_noise(examples, request.example, noise, request.seed)
    return NoisyAnswer(
        model=request.model, index=request.example, x=x, noise=dict(noise.description()), seed=request.seed
    )
