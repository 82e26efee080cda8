"""The models of a service: known by their cards, loaded when they are first asked for. Needs torch."""

import logging
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from ellzero.core.errors import InvalidInput
from ellzero.core.schemas import ModelInfo
from ellzero.serve.lookup.cost_estimates import look_seconds
from ellzero.serve.lookup.request_models import CertifyRequest, VotingRequest
from ellzero.serve.platform.metrics import Metrics
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.settings import ServeSettings
from ellzero.serve.voting.examples import noise_for
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.errors import BadModelFile, UnknownModel
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.devices import find_device
from ellzero.smoothing.models.files import DEMO_MODELS, ModelFile, find_model, load_model, model_names
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.sampling.batch_scheduler import BatchScheduler, SchedulerObserver
from ellzero.smoothing.sampling.sampling_task import CertifySettings, CertifyTask, PredictTask, SamplingTask

MOST_INPUTS = 256
_LOG = logging.getLogger(__name__)


class ServedModel:
    """A model in memory, and the hall where its votes are taken."""

    def __init__(
        self, name: str, card: ModelCard, digest: str, classifier: SmoothedClassifier, hall: BatchScheduler
    ) -> None:
        self.name, self.card, self.digest = name, card, digest
        self.classifier, self.hall = classifier, hall

    def ballots(self, question: VotingRequest, x: Any, seed: int) -> list[SamplingTask[Any]]:
        """The votes on an input, or on several stacked ones."""
        levels = self.classifier.levels(x)
        shape = tuple(levels.shape)
        if shape == self.card.shape:
            levels = levels.unsqueeze(0)
        elif shape[1:] != self.card.shape:
            raise InvalidInput("x", f"of shape {list(self.card.shape)}, or several of them stacked", list(shape))
        if len(levels) > MOST_INPUTS:
            raise InvalidInput("x", f"at most {MOST_INPUTS} inputs", len(levels))
        noise, classes = noise_for(self.card, question.alpha), self.card.num_classes
        if isinstance(question, CertifyRequest):
            asked = CertifySettings.of(
                question.n0, question.n, question.failure, seed, question.stopping, question.runner_up
            )
            return [CertifyTask(one, noise, classes, asked) for one in levels]
        return [PredictTask(one, noise, classes, question.n, question.failure, seed) for one in levels]

    def look_seconds(self, ballots: Sequence[SamplingTask[Any]]) -> float:
        """How long looking up the radii of such votes may keep all others waiting."""
        first = ballots[0]
        if not isinstance(first, CertifyTask) or not isinstance(first.noise, DiscreteNoise):
            return 0.0
        asked, d = first.settings, first.noise.dimension(first.x.shape)
        return look_seconds(first.noise.noise, asked.n, asked.failure, d, asked.runner_up)


class ModelRegistry:
    """All models of a folder; of those that ship, if the settings name none."""

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self._folder = DEMO_MODELS if settings.models is None else Path(settings.models)
        self._device = find_device(settings.device)
        self._cards: dict[str, ModelCard] = {}
        self._infos: dict[str, ModelInfo] = {}
        self._booths: dict[str, ServedModel] = {}
        self._retired: list[ServedModel] = []
        self._loading: dict[str, Lock] = {}
        self._lock = Lock()

    def load(self) -> None:
        """Look which models there are. Votes under way are ended by the model that they began with."""
        if not self._folder.is_dir():
            raise InvalidInput("models", "a folder that is there", str(self._folder))
        cards, infos = {}, {}
        for name in model_names(self._folder):
            try:
                file = ModelFile.read(find_model(name, self._folder))
            except (BadModelFile, UnknownModel) as error:  # others can be voted with nevertheless
                _LOG.warning("a model is left out: %s", error)
                continue
            cards[name], infos[name] = file.card, _info(name, file.card, file.digest)
        with self._lock:
            self._cards, self._infos = cards, infos
            for booth in list(self._booths.values()):
                if booth.name not in infos or infos[booth.name].sha256 != booth.digest:
                    self._retire(booth)

    def infos(self) -> list[ModelInfo]:
        """What is known of each model."""
        return list(self._infos.values())

    def card(self, name: str) -> ModelCard:
        """What a model says of itself, without loading it."""
        if name not in self._cards:
            raise UnknownModel("model", name, tuple(self._cards))
        return self._cards[name]

    def booth(self, name: str) -> ServedModel:
        """A model in memory; it is loaded now if nobody has asked for it before. Others are not kept waiting."""
        self.card(name)
        with self._lock:
            if name in self._booths:
                return self._booths[name]
            loading = self._loading.setdefault(name, Lock())
        with loading:
            if name not in self._booths:
                opened = self._opened(name)
                with self._lock:
                    self._booths[name] = opened
            return self._booths[name]

    def close(self) -> None:
        """End all votes."""
        for booth in [*self._booths.values(), *self._retired]:
            booth.hall.close()

    def _retire(self, booth: ServedModel) -> None:
        booth.hall.retire()
        self._retired = [each for each in self._retired if len(each.hall)] + [self._booths.pop(booth.name)]

    def _opened(self, name: str) -> ServedModel:
        saved = load_model(find_model(name, self._folder), self._settings.allow_factories)
        card = saved.card
        noise = make_noise({"family": "discrete", "unit": "coordinate", "levels": card.levels, "alpha": "1/2"})
        classifier = SmoothedClassifier(saved.network, noise, card.num_classes, self._device, feed=card.feed)
        observer = SchedulerObserver(self._count_batch, self._metrics.queue_seconds.observe)
        hall = BatchScheduler(classifier.sampler, self._settings.max_open_inputs, observer)
        return ServedModel(name, card, saved.digest, classifier, hall)

    def _count_batch(self, samples: int, room: int) -> None:
        self._metrics.votes.inc(samples)
        self._metrics.batch_fill.observe(samples / room)


def too_many(booth: ServedModel) -> HttpProblem:
    """What is said when the hall is full: come back when about half of it will be done."""
    rate = booth.hall.votes_per_second or 1_000.0
    seconds = min(60, max(1, round(booth.hall.votes_open / rate / 2)))
    detail = f"{len(booth.hall)} inputs are being voted on by {booth.name}; come back in {seconds} seconds"
    return HttpProblem(429, detail, headers={"retry-after": str(seconds)})


def _info(name: str, card: ModelCard, digest: str) -> ModelInfo:
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
