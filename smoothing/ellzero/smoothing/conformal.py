"""Conformal sets of a smoothed classifier, valid also for inputs that an adversary has changed.

The proof is in docs/mathematics.md, and the counts that decide are those of `ellzero.certificates.conformal`. All n
votes are drawn, for calibration and for prediction: the guarantee is about counts of n votes, and no count is settled
before nearly all of them are in, since every class and every budget has a critical count of its own.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import lru_cache
from typing import Any, Final
from warnings import warn

from ellzero.certificates import Calibration, Family, Total, critical_count
from ellzero.certificates.families.base import Budget, Counts
from ellzero.core.conventions import DEFAULT_ERROR, DEFAULT_SET_N
from ellzero.core.errors import InvalidInput
from ellzero.core.manifest import list_differences
from ellzero.core.numbers import RationalLike, read_integer
from ellzero.core.storage import Folder, read_file, split_uri
from ellzero.smoothing.classifier import SmoothedClassifier, make_seed
from ellzero.smoothing.errors import BadCalibration, SmallCalibrationWarning
from ellzero.smoothing.models.model_io import InputLike
from ellzero.smoothing.noise.protected import MaskLike, pair_masks
from ellzero.smoothing.noise.random_streams import Stage
from ellzero.smoothing.noise.registry import find_family
from ellzero.smoothing.results import PredictionSet
from ellzero.smoothing.sampling.sampling_task import CountTask

FORMAT: Final = "ellzero calibration"
_VERSION = 1

InputProgress = Callable[[int, int], None]
"""Called with the inputs whose votes are counted, and with the number of all inputs."""


class ConformalSmoother:
    """Sets of classes by votes under noise, for ``classifier`` as it is: `calibrate` first, then `predict_set`.

    ``model`` is a digest of the model, if it has one: a calibration that was saved is then refused by any other.
    """

    def __init__(self, classifier: SmoothedClassifier, *, model: str | None = None) -> None:
        self._classifier, self._model = classifier, model
        self._family = find_family(classifier.noise)
        self._calibration: Calibration | None = None
        self._seed = 0

    @property
    def calibration(self) -> Calibration:
        """The votes for the true classes. Raises before `calibrate`."""
        if self._calibration is None:
            raise InvalidInput("calibration", "made first, by calibrate() or load()", None)
        return self._calibration

    def calibrate(
        self,
        inputs: Iterable[InputLike],
        labels: Iterable[int],
        error: RationalLike = DEFAULT_ERROR,
        n: int = DEFAULT_SET_N,
        *,
        slack: RationalLike | None = None,
        protected: Iterable[MaskLike | None] | None = None,
        seed: int | None = None,
        progress: InputProgress | None = None,
    ) -> "ConformalSmoother":
        """Count n votes on each of these inputs, which the model was not trained on and nobody has changed.

        ``error`` is how often a set may miss the true class, and ``slack`` the part of it that pays for votes; choose
        them before you see any set. Warns if the inputs are too few for this error. Each input has random streams of
        its own, also if it occurs twice. ``protected`` has the protected positions of each input, as
        `SmoothedClassifier.certify` takes them.
        """
        Calibration([0], n, error, slack)  # what is wrong with them is said before any vote
        classes = self._classifier.num_classes
        truth = [read_integer(label, "labels", 0, classes - 1) for label in labels]
        if isinstance(inputs, Sized):
            _check_number(len(truth), len(inputs))
        self._seed = make_seed(seed)
        tasks = (
            self._task(x, mask, n, self._seed, Stage.CALIBRATE, number)
            for number, (x, mask) in enumerate(pair_masks(inputs, protected))
        )
        counts = []
        for votes in self._classifier.sampler.run(tasks):
            counts.append(votes)
            if progress is not None:
                progress(len(counts), len(truth))
        _check_number(len(truth), len(counts))
        self._calibration = Calibration(
            [votes[label] for votes, label in zip(counts, truth, strict=True)], n, error, slack
        )
        self._warn_if_small()
        return self

    def predict_set(
        self,
        x: InputLike,
        budget: Budget = 0,
        n: int = DEFAULT_SET_N,
        *,
        protected: MaskLike | None = None,
        seed: int | None = None,
    ) -> PredictionSet:
        """The set of an input that may have been changed within ``budget``: a number for changes of any kinds, or how
        many of each kind was done *to the clean input*.

        n fresh votes decide. Leave ``seed`` out: who knows it before choosing the input can look for one whose votes
        are unlucky. The same seed and input give the same set again.
        """
        (found,) = self.predict_sets(x, [budget], n, protected=protected, seed=seed)
        return found

    def predict_sets(
        self,
        x: InputLike,
        budgets: Sequence[Budget],
        n: int = DEFAULT_SET_N,
        *,
        protected: MaskLike | None = None,
        seed: int | None = None,
    ) -> list[PredictionSet]:
        """`predict_set` for each of several budgets, from the same votes; each set holds for its own budget."""
        (found,) = self.predict_many([x], budgets, n, protected=[protected], seed=seed)
        return found

    def predict_many(
        self,
        inputs: Iterable[InputLike],
        budgets: Sequence[Budget],
        n: int = DEFAULT_SET_N,
        *,
        protected: Iterable[MaskLike | None] | None = None,
        seed: int | None = None,
    ) -> Iterator[list[PredictionSet]]:
        """`predict_sets` for many inputs, in their order; small ones share batches."""
        critical = [self.critical_count(budget, n) for budget in budgets]
        chosen_seed, error = make_seed(seed), self.calibration.error
        noise = dict(self._classifier.noise.description())
        tasks = (self._task(x, mask, n, chosen_seed, Stage.PREDICT_SET) for x, mask in pair_masks(inputs, protected))

        def make_set(counts: tuple[int, ...], budget: Budget, least: int) -> PredictionSet:
            labels = tuple(label for label, count in enumerate(counts) if count >= least)
            return PredictionSet(labels, budget, least, counts, n, error, chosen_seed, noise)

        return (
            [make_set(counts, budget, least) for budget, least in zip(budgets, critical, strict=True)]
            for counts in self._classifier.sampler.run(tasks)
        )

    def critical_count(self, budget: Budget, n: int = DEFAULT_SET_N) -> int:
        """How many of n votes keep a class in the set of a budget; 0 if every class is kept."""
        of_any_kind = not isinstance(budget, Mapping) and len(self._family.axes) > 1
        family = Total(self._family) if of_any_kind else self._family
        return _find_critical_count(family, family.read_budget(budget), self.calibration, n)

    def save(self, uri: str) -> None:
        """Write the calibration as JSON, with all that it depends on."""
        calibration, (place, name) = self.calibration, split_uri(uri)
        content = {
            "format": FORMAT,
            "version": _VERSION,
            **self._describe(),
            "n": calibration.n,
            "error": str(calibration.error),
            "slack": str(calibration.slack),
            "seed": self._seed,
            "counts": list(calibration.counts),
        }
        folder = Folder(place)
        folder.prepare()
        folder.write(name, json.dumps(content).encode() + b"\n")

    @classmethod
    def load(cls, uri: str, classifier: SmoothedClassifier, *, model: str | None = None) -> "ConformalSmoother":
        """The smoother of a calibration that `save` wrote. `BadCalibration` if it is for another noise or model."""
        smoother = cls(classifier, model=model)
        try:
            content = json.loads(read_file(uri))
            if not isinstance(content, dict) or content.get("format") != FORMAT:
                raise BadCalibration(uri, "is no calibration of ellzero")
            if content["version"] != _VERSION:
                raise BadCalibration(uri, "was written by a later version of ellzero")
            there = {key: content[key] for key in ("noise", "classes", "model")}
            smoother._calibration = Calibration(content["counts"], content["n"], content["error"], content["slack"])
            smoother._seed = read_integer(content["seed"], "seed", 0)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            if isinstance(error, BadCalibration):
                raise
            raise BadCalibration(uri, "is damaged") from error
        here = smoother._describe()
        unknown = [key for key in here if here[key] is None or there[key] is None]  # a model that has no digest
        differences = list_differences(there, {key: value for key, value in here.items() if key not in unknown})
        if differences:
            raise BadCalibration(uri, f"is for another classifier: {'; '.join(differences)}")
        smoother._warn_if_small()
        return smoother

    def _describe(self) -> dict[str, Any]:
        classifier = self._classifier
        return {
            "model": self._model,
            "noise": dict(classifier.noise.description()),
            "classes": classifier.num_classes,
        }

    def _task(
        self, x: InputLike, protected: MaskLike | None, n: int, seed: int, stage: Stage, number: int | None = None
    ) -> CountTask:
        classifier = self._classifier
        levels, mask = classifier.read_input(x, protected)
        return CountTask(levels, classifier.noise, classifier.num_classes, n, seed, stage, mask, number)

    def _warn_if_small(self) -> None:
        calibration = self.calibration
        if not calibration.rank:
            warn(
                f"{len(calibration.counts)} inputs are too few for the error {calibration.error}: every set will have "
                f"all classes; {calibration.least_inputs} or more calibrate smaller ones",
                SmallCalibrationWarning,
                stacklevel=3,
            )


def _check_number(labels: int, inputs: int) -> None:
    if labels != inputs:
        raise InvalidInput("labels", f"as many as there are inputs, {inputs}", labels)


@lru_cache(maxsize=1_024)
def _find_critical_count(family: Family, counts: Counts, calibration: Calibration, n: int) -> int:
    return critical_count(family, family.write_budget(counts), calibration, n)
