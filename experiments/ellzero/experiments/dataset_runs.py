"""Certifying inputs of a data set within an experiment: votes are kept as they come, and a stopped run resumes."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ellzero.core.errors import BadResults
from ellzero.core.execution.executors import WorkerResources
from ellzero.core.execution.placement import Placement
from ellzero.core.part_store import split_chunks
from ellzero.core.progress import announce, show_progress
from ellzero.core.text import count_noun
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.one_thread import use_one_thread
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.runs.dataset_run import DatasetRun, certify_chunks, check_fit, votes_per_second
from ellzero.smoothing.runs.metrics import Outcome
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.smoothing.sampling.reach import explain_unreachable


@dataclass(frozen=True)
class CertifiedInputs:
    """The outcomes of a run, in the order of its inputs, and the share of its votes that were drawn."""

    outcomes: tuple[Outcome, ...]
    drawn: Fraction


def certify_inputs(
    folder: ExperimentFolder,
    name: str,
    run: DatasetRun,
    saved: SavedModel,
    data: DataSet,
    indices: Sequence[int],
    place: Placement,
) -> CertifiedInputs:
    """Certify these inputs with a model, and keep every result in ``runs/NAME`` at once; those there are not repeated.

    ``ellzero report`` reads that folder too. Raises if it has results of another model.
    """
    store = ResultStore(str(folder.subfolder("runs") / name))
    before = store.manifest()
    if before is not None and before["model"]["sha256"] != run.model_digest:
        raise BadResults(store.uri, "has results of another model of this name; give another --out")
    classifier = run.make_classifier(saved)
    check_fit(saved.card, data, classifier.noise.levels, run.source.uri)
    store.begin(run.manifest(saved.card, data))
    store.write_source(run.source)
    chunks = split_chunks(set(indices) - store.present())
    missing = {index for chunk in chunks for index in chunk}
    if missing:
        folder.log(f"{name}: {count_noun(len(missing), 'input')}, at most {run.settings.n:,} votes each")
        if (unreachable := explain_unreachable(classifier.noise, run.settings, classifier.num_classes)) is not None:
            folder.log(f"{name}: {unreachable}")
        votes = run.settings.n0 + run.settings.n
        with use_one_thread():
            seconds = len(missing) * votes / votes_per_second(classifier, data)
        announce(f"{name}, if all votes are needed", seconds)
        with (
            place.open_executor(
                seconds, lambda: f"{len(missing & store.present()):,} of {len(missing):,} inputs", store.uri
            ) as executor,
            show_progress(len(missing), "inputs", seconds) as bar,
            use_one_thread(),
        ):
            gpus = min(1, executor.gpus) if run.device == "auto" else int(run.device.startswith("cuda"))
            threads = None if gpus else 1
            for receipt in certify_chunks(run, store, chunks, executor, WorkerResources(1, gpus), threads, saved, data):
                bar.advance(receipt.inputs)
                folder.log_progress(f"{name}: {receipt.inputs} more")
    certified = _read_results(store, indices, run.settings.n)
    if missing:
        folder.log(
            f"{name}: {count_noun(len(missing), 'input')} certified, {float(certified.drawn):.0%} of votes drawn"
        )
    return certified


def _read_results(store: ResultStore, indices: Sequence[int], n: int) -> CertifiedInputs:
    table = store.table()
    columns = (table[name].to_pylist() for name in ("index", "label", "prediction", "radius", "drawn"))
    rows = {row[0]: row[1:] for row in zip(*columns, strict=True)}
    chosen = [rows[index] for index in indices]
    drawn = Fraction(sum(drawn for *_, drawn in chosen), n * len(chosen))
    return CertifiedInputs(tuple(Outcome(label, prediction, radius) for label, prediction, radius, _ in chosen), drawn)
