"""The results folders of a service, read again whenever their files have changed."""

import logging
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from cachetools import LRUCache

from ellzero.core.cancellation import check_cancelled
from ellzero.core.errors import BadResults, InvalidInput
from ellzero.core.schemas import ResultsAnswer, ResultsInfo, UnusableResults
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.results.certified_run import CertifiedRun, OtherResults
from ellzero.serve.results.folders import FoundFolders, Signature, find_folders, is_results_folder, sign_folder

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 256 * 2**20  # of inputs in memory, for all runs together


@dataclass(frozen=True)
class ResultsSummary:
    """What a folder amounted to when it had these files: a run, or the reason why it cannot be read; None if its
    results are of another kind, which the service does not show."""

    signature: Signature
    outcome: ResultsInfo | str | None


class ResultsRegistry:
    """The results folders in and below a folder, or none. They are only read."""

    def __init__(self, folder: str | None) -> None:
        self._root = None if folder is None else Path(folder).absolute()
        self._paths: dict[str, Path] = {}
        self._summaries: dict[Path, ResultsSummary] = {}
        self._runs: LRUCache[tuple[Path, Signature], CertifiedRun] = LRUCache(_MOST_BYTES, _count_bytes)
        self._lock, self._reading = Lock(), Lock()

    def check(self) -> None:
        """Raise unless the folder exists."""
        if self._root is not None and not self._root.is_dir():
            raise InvalidInput("results", "an existing folder", str(self._root))

    def list_results(self) -> ResultsAnswer:
        """Return what all folders amount to now."""
        if self._root is None:
            return ResultsAnswer(results=[], unusable=[], complete=True)
        found = self._search(self._root)
        outcomes = {}
        for name, path in found.paths.items():
            check_cancelled()
            outcomes[name] = self._look(name, path)
        with self._lock:  # folders that are gone are forgotten
            self._summaries = {path: one for path, one in self._summaries.items() if path in found.paths.values()}
        return ResultsAnswer(
            results=[one for one in outcomes.values() if isinstance(one, ResultsInfo)],
            unusable=[UnusableResults(name, one) for name, one in outcomes.items() if isinstance(one, str)],
            complete=found.complete,
        )

    def find(self, name: str) -> CertifiedRun:
        """Return a run with at least one result. 404 if there is none of this name, 422 if it cannot be read."""
        path = self._paths.get(name)
        if self._root is not None and (path is None or not is_results_folder(path)):  # it began, or is gone, since
            path = self._search(self._root).paths.get(name)
        if path is None:
            raise HttpProblem(404, "there are no results of this name; /v1/results lists all", field="name")
        try:
            run = self._read(name, path)
        except OtherResults as other:
            raise HttpProblem(404, f"{name} {other.reason}", field="name") from None
        if isinstance(run, str):
            raise HttpProblem(422, f"the results {name} cannot be read: {run}", "results-unusable", field="name")
        if not run.info.inputs:
            raise HttpProblem(404, f"the run {name} has no results yet", field="name")
        return run

    def _search(self, root: Path) -> FoundFolders:
        found = find_folders(root)
        self._paths = found.paths
        return found

    def _look(self, name: str, path: Path) -> ResultsInfo | str | None:
        """Return the summary of a folder, from memory if its files are still the same."""
        try:
            signature = sign_folder(path)
        except OSError as error:
            return _describe_failure(error)
        known = self._summaries.get(path)
        if known is not None and known.signature == signature:
            return known.outcome
        try:
            run = self._read(name, path)
            outcome = run if isinstance(run, str) else run.info
        except OtherResults:
            outcome = None
        if isinstance(outcome, str):
            _LOG.warning("the results %s cannot be read: %s", name, outcome)
        with self._lock:
            self._summaries[path] = ResultsSummary(signature, outcome)
        return outcome

    def _read(self, name: str, path: Path) -> CertifiedRun | str:
        """Return the run in a folder, or the reason why it cannot be read. One folder is read at a time."""
        try:
            key = path, sign_folder(path)
            with self._reading:
                with self._lock:
                    run = self._runs.get(key)
                if run is None:
                    run = CertifiedRun(name, path)
                    self._keep(key, run)
        except OtherResults:
            raise
        except BadResults as error:
            place = Path(error.place)
            return error.reason if place == path else f"{place.name} {error.reason}"
        except OSError as error:
            return _describe_failure(error)
        return run

    def _keep(self, key: tuple[Path, Signature], run: CertifiedRun) -> None:
        """Keep a run in memory, in the place of what the folder held before."""
        with self._lock:
            for other in [other for other in self._runs if other[0] == key[0]]:
                del self._runs[other]
            if _count_bytes(run) <= _MOST_BYTES:
                self._runs[key] = run


def _count_bytes(run: CertifiedRun) -> int:
    return int(run.rows.nbytes) + 200 * len(run.rows)  # with the outcomes


def _describe_failure(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"
