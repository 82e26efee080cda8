"""The model registry: the cards of a service's models, which are loaded on first use. Needs torch."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Lock
from typing import Any

from ellzero.audit.writing import read_noise_law
from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import ModelInfo, UnusableModel
from ellzero.serve.lookup.cost_estimates import check_seconds
from ellzero.serve.platform.example_files import EXAMPLES_SUFFIX
from ellzero.serve.platform.field_types import MAX_INPUTS, Exact
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.settings import ServeSettings
from ellzero.serve.voting.request_models import CertifyRequest, VotingRequest
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.errors import BadModelFile, SchedulerFull, UnknownModel
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.devices import find_device
from ellzero.smoothing.models.files import DEMO_MODELS, ModelFile, find_model, load_model, model_names
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.sampling.batch_scheduler import BatchScheduler, SchedulerObserver
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask, PredictTask, SamplingTask

_LOG = logging.getLogger(__name__)


class ServedModel:
    """A model in memory, and the batch scheduler of its votes."""

    def __init__(
        self, name: str, card: ModelCard, digest: str, classifier: SmoothedClassifier, scheduler: BatchScheduler
    ) -> None:
        self.name, self.card, self.digest = name, card, digest
        self.classifier, self.scheduler = classifier, scheduler

    def make_tasks(self, request: VotingRequest, x: Any, seed: int) -> list[SamplingTask[Any]]:
        """Return the sampling tasks of an input, or of several stacked ones."""
        levels = self.classifier.levels(x)
        shape = tuple(levels.shape)
        if shape == self.card.shape:
            levels = levels[None]
        elif shape[1:] != self.card.shape:
            raise InvalidInput("x", f"of shape {list(self.card.shape)}, or several of them stacked", list(shape))
        if len(levels) > MAX_INPUTS:
            raise InvalidInput("x", f"at most {MAX_INPUTS} inputs", len(levels))
        noise, classes = make_model_noise(self.card, request.alpha), self.card.num_classes
        levels = noise.read_batch(levels)
        if isinstance(request, CertifyRequest):
            if request.certificate:
                read_noise_law(noise.description())  # raises where there are no exact certificates
            settings = CertifySettings.of(
                request.n0, request.votes, request.failure, seed, request.stopping, request.runner_up
            )
            return [CertifyTask(one, noise, classes, settings) for one in levels]
        return [PredictTask(one, noise, classes, request.votes, request.failure, seed) for one in levels]

    def estimate_check_seconds(self, task: SamplingTask[Any]) -> float:
        """Estimate how long one check of a task's votes may keep all others of this model waiting."""
        if not isinstance(task, CertifyTask) or not isinstance(task.noise, DiscreteNoise):
            return 0.0
        settings, d = task.settings, task.noise.dimension(task.x.shape)
        return check_seconds(task.noise.noise, settings.n, settings.failure, d, settings.runner_up)

    def submit(self, tasks: list[SamplingTask[Any]]) -> "list[Future[Any]]":
        """Take the votes of all of these tasks, or refuse them with 429."""
        try:
            return self.scheduler.submit(tasks)
        except SchedulerFull as full:
            rate = self.scheduler.votes_per_second or 1_000.0
            seconds = min(60, max(1, round(self.scheduler.votes_open / rate / 2)))  # about half will be done
            detail = (
                f"the model {self.name} has {full.open} inputs in progress, and {full.most} at most;"
                f" try again in {seconds} seconds"
            )
            raise HttpProblem(429, detail, headers={"retry-after": str(seconds)}) from None


class ModelRegistry:
    """The networks of the settings' folder, and the bundled ones whose names the folder does not use.

    ``list_other_names`` has the names of models that are not networks, for the message that there is no such model.
    """

    def __init__(
        self, settings: ServeSettings, metrics: Metrics, list_other_names: Callable[[], list[str]] = list
    ) -> None:
        self._settings, self._metrics, self._list_other_names = settings, metrics, list_other_names
        own = [] if settings.models is None else [Path(settings.models)]
        self._folders = (*own, DEMO_MODELS)
        self._device = find_device(settings.device)
        self._cards: dict[str, ModelCard] = {}
        self._infos: dict[str, ModelInfo] = {}
        self._unusable: dict[str, str] = {}
        self._served: dict[str, ServedModel] = {}
        self._retired: list[ServedModel] = []
        self._loading: dict[str, Lock] = {}
        self._lock = Lock()

    def load(self) -> None:
        """Read the cards of all models. Jobs in progress continue with the model that they began with."""
        if not self._folders[0].is_dir():
            raise InvalidInput("models", "an existing folder", str(self._folders[0]))
        cards, infos, unusable = {}, {}, {}
        for name in sorted({name for folder in self._folders for name in model_names(folder)}):
            try:
                file = ModelFile.read(find_model(name, *self._folders))
                self._check_factory(file.card)
            except BadModelFile as error:  # the other models can be used nevertheless
                _LOG.warning("model %s cannot be used: %s", name, error)
                unusable[name] = error.reason
                continue
            cards[name], infos[name] = file.card, _describe(name, file.card, file.digest)
        with self._lock:
            self._cards, self._infos, self._unusable = cards, infos, unusable
            for model in list(self._served.values()):
                if model.name not in infos or infos[model.name].sha256 != model.digest:
                    self._retire(model)

    def list_models(self) -> list[ModelInfo]:
        """Return the descriptions of all usable models."""
        return [info for name, info in self._infos.items() if name not in self._unusable]

    def list_unusable(self) -> list[UnusableModel]:
        """Return the models that cannot be used, with the reasons."""
        return [UnusableModel(name, reason) for name, reason in sorted(self._unusable.items())]

    def get_card(self, name: str) -> ModelCard:
        """Return the card of a model, without loading it."""
        if name in self._unusable:
            raise _make_unusable_problem(name, self._unusable[name])
        if name not in self._cards:
            names = sorted({*self._cards, *self._list_other_names()})
            raise HttpProblem(404, str(UnknownModel("model", name, tuple(names))), field="model")
        return self._cards[name]

    def examples_path(self, name: str) -> Path:
        """Return where the examples of a model are, if there are any: beside its file."""
        return find_model(name, *self._folders).with_name(name + EXAMPLES_SUFFIX)

    def get_model(self, name: str) -> ServedModel:
        """Return a model, loaded now if this is its first use. Requests for other models do not wait for it."""
        self.get_card(name)
        with self._lock:
            if name in self._served:
                return self._served[name]
            loading = self._loading.setdefault(name, Lock())
        with loading:
            if name not in self._served:
                model = self._load(name)
                with self._lock:
                    self._served[name] = model
            return self._served[name]

    def close(self) -> None:
        """End all votes."""
        for model in [*self._served.values(), *self._retired]:
            model.scheduler.close()

    def _retire(self, model: ServedModel) -> None:
        model.scheduler.retire()
        self._retired = [one for one in self._retired if len(one.scheduler)] + [self._served.pop(model.name)]

    def _check_factory(self, card: ModelCard) -> None:
        if ":" in card.architecture and card.architecture not in self._settings.allow_factories:
            reason = f"needs the factory {card.architecture}, which ELLZERO_SERVE_ALLOW_FACTORIES does not list"
            raise BadModelFile("the model", reason)

    def _load(self, name: str) -> ServedModel:
        try:
            saved = load_model(find_model(name, *self._folders), self._settings.allow_factories)
        except (BadModelFile, UnknownModel) as error:
            reason = error.reason if isinstance(error, BadModelFile) else str(error)
            _LOG.warning("model %s cannot be used: %s", name, error)
            self._unusable[name] = reason
            raise _make_unusable_problem(name, reason) from None
        card = saved.card
        noise = make_noise({"family": "discrete", "unit": "coordinate", "levels": card.levels, "alpha": "1/2"})
        classifier = SmoothedClassifier(saved.network, noise, card.num_classes, self._device, feed=card.feed)
        observer = SchedulerObserver(self._count_batch, self._metrics.queue_seconds.observe)
        scheduler = BatchScheduler(classifier.sampler, self._settings.max_open_inputs, observer)
        return ServedModel(name, card, saved.digest, classifier, scheduler)

    def _count_batch(self, samples: int, capacity: int) -> None:
        self._metrics.votes.inc(samples)
        self._metrics.batch_fill.observe(samples / capacity)


def make_model_noise(card: ModelCard, alpha: Exact | None) -> NoiseFamily:
    """Return the noise that the model was trained with, with another α if the request has one."""
    description = dict(card.noise) or {"family": "discrete", "levels": card.levels, "unit": "coordinate"}
    if alpha is not None:
        if description["family"] != "discrete":
            raise InvalidInput("alpha", f"left out for {description['family']} noise", alpha)
        description["alpha"] = alpha
    elif description["family"] == "discrete" and "alpha" not in description:
        raise InvalidInput("alpha", "given: the model does not say what it was trained with", None)
    return make_noise(description)


def _make_unusable_problem(name: str, reason: str) -> HttpProblem:
    return HttpProblem(422, f"the model {name} cannot be used: it {reason}", "model-unusable", field="model")


def _describe(name: str, card: ModelCard, digest: str) -> ModelInfo:
    return ModelInfo(
        name=name,
        architecture=card.architecture,
        shape=list(card.shape),
        num_classes=card.num_classes,
        class_names=list(card.class_names),
        levels=card.levels,
        noise=dict(card.noise),
        data=card.data,
        sha256=digest,
    )
