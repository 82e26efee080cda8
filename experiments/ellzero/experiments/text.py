"""Beyond the paper: sentences. A bag of words under hidden and under substituted tokens, and the same votes in floats.

Two data sets, SST-2 and TREC, as files of one sentence a line. For each level of noise a network is trained; levels are
chosen on validation sentences, and test sentences are certified, with padding protected: d is the length of a sentence.
Networks trained with hidden tokens are also certified with a fixed share of them hidden, the noise of RanMASK.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ellzero.certificates import plan_looks
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_N0
from ellzero.core.errors import MissingExtra
from ellzero.core.execution.placement import Placement
from ellzero.experiments.dataset_runs import CertifiedInputs, certify_inputs
from ellzero.experiments.float_certificates import (
    BETA_ONE,
    BETA_SHARE,
    FLOAT_THRESHOLD,
    PUBLIC_SHOWN,
    LookCount,
    Rule,
    ablation_rule,
    ablation_share_rule,
    discrete_rule,
    float_looks,
    float_radius,
    mask_rule,
    mask_share_rule,
    public_ablation_rule,
)
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.masked_share import MaskedShareRun, describe_masked_share
from ellzero.experiments.result import ExperimentResult
from ellzero.experiments.text_data import MASK, CorpusSplits, read_corpora, write_tokens
from ellzero.experiments.text_figure import plot_corpora
from ellzero.experiments.text_settings import LEAST_SHOWN, TextSettings, read_noise_levels
from ellzero.experiments.text_tables import (
    CorpusRows,
    FloatClaims,
    TextRow,
    make_accuracy_table,
    make_float_table,
    make_notes,
    make_run_table,
    make_tuning_table,
    share_without_a_class,
)
from ellzero.experiments.text_training import FACTORY, train_network
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.discrete import DiscreteNoise
from ellzero.smoothing.noise.mask import MaskNoise
from ellzero.smoothing.runs.dataset_run import DatasetRun
from ellzero.smoothing.runs.metrics import Outcome
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.sampling_task import CertifySettings
from ellzero.smoothing.sampling.stopping_rules import Stopping

NAME: Final = "text"
_FIGURE = "text.svg"
_HERE: Final = Placement("local", None, None)

Noise = tuple[str, str]
"""The kind of a noise, mask or discrete, and its level."""


def run_text(folder: ExperimentFolder, data: Path, settings: TextSettings) -> ExperimentResult:
    """Train, choose, certify, and compare with floating point. Everything is kept as it comes."""
    masks, alphas = read_noise_levels(settings.masks, "masks"), read_noise_levels(settings.alphas, "alphas")
    settings = replace(settings, masks=masks, alphas=alphas)
    corpora = read_corpora(data, settings.seed)
    folder.begin(NAME, _describe(corpora, settings))
    studies = [_CorpusStudy(folder, splits, settings) for splits in corpora]
    tables = [study.tuning_table for study in studies]
    rows = [study.certify() for study in studies]
    tables += [make_accuracy_table(corpus, settings) for corpus in rows]
    tables += [make_float_table(rows), make_run_table(rows)]
    values = {"chosen": {study.splits.corpus.name: [list(noise) for noise in study.chosen] for study in studies}}
    return folder.finish(tables, values, make_notes(rows), _plot(folder, rows))


def _describe(corpora: Sequence[CorpusSplits], settings: TextSettings) -> dict[str, Any]:
    return {
        "data": {splits.corpus.name: dict(splits.digests) for splits in corpora},
        "n0": DEFAULT_N0,
        "failure": DEFAULT_FAILURE,
        "stopping": Stopping.STAGED.value,
        **settings.describe(),
    }


class _CorpusStudy:
    """One corpus: networks for all levels of noise, those that are chosen, and what they certify."""

    def __init__(self, folder: ExperimentFolder, splits: CorpusSplits, settings: TextSettings) -> None:
        self.splits, self._folder, self._settings = splits, folder, settings
        self._sources = write_tokens(folder, splits, settings.words)
        self._training = self._sources["train"].load()
        self._levels = self._training.levels
        self._networks = self._train()
        tuned = {noise: self._tune(noise) for noise in self._networks}
        self.chosen = _choose(tuned)
        self.tuning_table = make_tuning_table(splits.corpus.name, splits.corpus.title, tuned, self.chosen)

    def certify(self) -> CorpusRows:
        """The rows of the noises that were chosen, and of a fixed share for each that hides tokens."""
        shares = [("masked-share", level) for kind, level in self.chosen if kind == "mask"]
        test = self._sources["test"].load()
        majority = int(np.bincount(self._training.labels).argmax())
        return CorpusRows(
            self.splits.corpus.name,
            self.splits.corpus.title,
            tuple(self._certify_row(kind, level) for kind, level in (*self.chosen, *shares)),
            len(test.labels),
            float(np.mean(test.labels == majority)),
        )

    def _train(self) -> dict[Noise, SavedModel]:
        settings = self._settings
        noises: dict[Noise, NoiseFamily] = {("mask", m): self._make_mask(m) for m in settings.masks}
        noises |= {("discrete", alpha): DiscreteNoise(self._levels - 1, alpha) for alpha in settings.alphas}
        validation, networks = self._sources["validation"].load(), {}
        for (kind, level), noise in noises.items():
            path = self._find_model(kind, level)
            if not path.exists():
                self._folder.log(f"training {path.stem}")
            networks[kind, level] = train_network(self._training, validation, noise, settings, path)
        return networks

    def _tune(self, noise: Noise) -> tuple[Outcome, ...]:
        """What the noise certifies of validation sentences, by few votes."""
        settings = self._settings
        run = self._make_run(*noise, part="validation", n=settings.tuning_n)
        return self._certify_inputs(run, "validation", noise, settings.tuning_sentences).outcomes

    def _certify_row(self, kind: str, level: str) -> TextRow:
        run = self._make_run(kind, level, part="test", n=self._settings.n)
        certified = self._certify_inputs(run, "test", (kind, level), self._settings.sentences)
        looks, ds = self._read_looks("test", (kind, level), len(certified.outcomes))
        claims = tuple(
            FloatClaims(name, tuple(_claim(rule, own, d) for own, d in zip(looks, ds, strict=True)))
            for name, rule in self._list_rules(kind, level).items()
        )
        return TextRow(kind, level, run.model_digest, certified.outcomes, certified.drawn, claims)

    def _list_rules(self, kind: str, level: str) -> Mapping[str, Rule]:
        """The rules that are in use for votes under this noise."""
        if kind == "discrete":
            return {FLOAT_THRESHOLD: discrete_rule(self._levels - 1, level)}
        if kind == "mask":
            return {BETA_ONE: mask_rule(level), BETA_SHARE: mask_share_rule(level)}
        return {
            BETA_ONE: ablation_rule(level, LEAST_SHOWN),
            BETA_SHARE: ablation_share_rule(level, LEAST_SHOWN),
            PUBLIC_SHOWN: public_ablation_rule(level),
        }

    def _make_run(self, kind: str, level: str, part: str, n: int) -> DatasetRun:
        source, path = self._source(part), self._find_model("discrete" if kind == "discrete" else "mask", level)
        make, noise = DatasetRun, dict[str, Any]()
        if kind == "masked-share":
            make, noise = MaskedShareRun, describe_masked_share(self._levels, level, MASK, LEAST_SHOWN)
        elif kind == "mask":
            noise = dict(self._make_mask(level).description())
        else:
            noise = dict(DiscreteNoise(self._levels - 1, level).description())
        return make(
            model=str(path),
            model_digest=self._find_network(kind, level).digest,
            allowed=(FACTORY,),
            source=source,
            data_digest=source.load().digest,
            noise=noise,
            settings=CertifySettings.of(DEFAULT_N0, n, DEFAULT_FAILURE, self._settings.seed, Stopping.STAGED),
            device="cpu",
            batch_size=None,
            autocast=None,
            compile=False,
        )

    def _certify_inputs(self, run: DatasetRun, part: str, noise: Noise, most: int) -> CertifiedInputs:
        data = self._source(part).load()
        indices = range(min(most, len(data.labels)))
        return certify_inputs(
            self._folder, self._name_run(part, noise), run, self._find_network(*noise), data, indices, _HERE
        )

    def _read_looks(self, part: str, noise: Noise, count: int) -> tuple[list[list[LookCount]], list[int]]:
        """The looks at the votes of the first sentences, and their lengths."""
        table = ResultStore(str(self._folder.subfolder("runs") / self._name_run(part, noise))).table()
        counts = [[look["count"] for look in looks] for looks in table["looks"].to_pylist()[:count]]
        return float_looks(counts, plan_looks(self._settings.n, DEFAULT_FAILURE)), table["d"].to_pylist()[:count]

    def _source(self, part: str) -> DataSource:
        """A part in an order of the seed, so that its first sentences are a random sample."""
        return replace(self._sources[part], shuffle=self._settings.seed)

    def _make_mask(self, m: str) -> MaskNoise:
        return MaskNoise(self._levels - 1, m, mask_token=MASK)

    def _find_model(self, kind: str, level: str) -> Path:
        return self._folder.subfolder("models") / f"{self.splits.corpus.name}-{kind}-{level}.safetensors"

    def _find_network(self, kind: str, level: str) -> SavedModel:
        return self._networks["discrete" if kind == "discrete" else "mask", level]

    def _name_run(self, part: str, noise: Noise) -> str:
        return f"{part}-{self.splits.corpus.name}-{'-'.join(noise)}"


def _claim(rule: Rule, looks: Sequence[LookCount], d: int) -> int:
    radius = float_radius(looks, d, rule)
    return -1 if radius is None else radius


def _choose(tuned: Mapping[Noise, Sequence[Outcome]]) -> list[Noise]:
    """Of each kind the levels that certify most at r = 1 and at r = 2, if they do at all, whatever class is left out:
    what a constant answer would gain does not count. The first of equal ones."""
    chosen = []
    for kind in dict.fromkeys(kind for kind, _ in tuned):
        for r in (1, 2):
            shares = {noise: share_without_a_class(own, r) for noise, own in tuned.items() if noise[0] == kind}
            best = max(shares, key=lambda noise: shares[noise])
            if r == 1 or shares[best] > 0:
                chosen.append(best)
    return list(dict.fromkeys(chosen))


def _plot(folder: ExperimentFolder, rows: Sequence[CorpusRows]) -> list[str]:
    """Certified accuracies; none without matplotlib."""
    try:
        plot_corpora(rows, folder.path / _FIGURE)
    except MissingExtra as missing:
        folder.log(str(missing))
        return []
    return [_FIGURE]
