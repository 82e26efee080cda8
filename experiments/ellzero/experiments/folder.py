"""The folder of an experiment: what was asked, what was found, where and when, and everything in between.

::

    experiment.json   what decides the results: the experiment's name and its configuration; written first
    environment.json  code, libraries and machine of each run that worked on it
    log.txt           what happened, a line each with its time
    results.json      tables, values, notes and plots; written last
    …                 whatever the experiment keeps to resume from, and its plots

JSON files appear whole or not at all. The same command resumes; one with another configuration is refused.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

from ellzero.core.errors import BadResults
from ellzero.core.manifest import list_differences
from ellzero.core.part_store import RUN_MANIFEST
from ellzero.core.progress import notify
from ellzero.core.storage import Folder
from ellzero.experiments.environment import describe_environment, format_command, is_environment, utc_now
from ellzero.experiments.result import ExperimentResult, ResultTable

MANIFEST: Final = "experiment.json"
_ENVIRONMENT = "environment.json"
_LOG = "log.txt"
_RESULTS = "results.json"
_FORMAT = "ellzero experiment"
_VERSION = 1
_SECONDS_BETWEEN_LINES = 60.0
_LOG_LINE = re.compile(r"\S+Z \+(?P<seconds>\d+\.\d) ", re.ASCII)


@dataclass(frozen=True)
class ExperimentDescription:
    """An experiment and its configuration."""

    name: str
    config: Mapping[str, Any]


class ExperimentFolder:
    """The folder of an experiment on this machine. `begin` it to write, or just read it."""

    def __init__(self, path: Path | str) -> None:
        if "://" in str(path):
            raise BadResults(str(path), "is no folder on this machine, and an experiment needs one for its plots")
        self.path = Path(path)
        self._files = Folder(str(self.path))
        self._start = self._logged = time.perf_counter()
        self._begun = False

    def describe(self) -> ExperimentDescription | None:
        """The experiment in this folder; None if there is none."""
        manifest = self.read_json(MANIFEST)
        if manifest is None:
            return None
        if manifest.get("format") != _FORMAT or not isinstance(manifest.get("config"), dict):
            raise BadResults(str(self.path / MANIFEST), "describes no experiment of ellzero")
        version = manifest.get("version")
        if not isinstance(version, int):
            raise BadResults(str(self.path / MANIFEST), "is damaged")
        if version > _VERSION:
            raise BadResults(str(self.path), "was written by a later version of ellzero")
        return ExperimentDescription(str(manifest.get("experiment")), manifest["config"])

    def begin(self, name: str, config: Mapping[str, Any]) -> None:
        """Begin an experiment here, or go on with it. Raises if the folder has another one, with all differences.

        ``config`` is an object of JSON with all that decides the results, without paths: data by name and digest. Once
        begun, a second call checks it and does nothing else.
        """
        config = json.loads(json.dumps(config))  # as it will be read again
        there = self.describe()
        if there is None:
            if foreign := {_ENVIRONMENT, _LOG, _RESULTS} & set(self._files.files()):
                raise BadResults(
                    str(self.path / min(foreign)), "is of no experiment, and would be overwritten; give another --out"
                )
            self._files.prepare()
            manifest = {"format": _FORMAT, "version": _VERSION, "experiment": name, "config": config}
            self.write_json(MANIFEST, manifest)
            there = ExperimentDescription(name, config)
        differences = list_differences(
            {"experiment": there.name, "config": there.config}, {"experiment": name, "config": config}
        )
        if differences:
            raise BadResults(str(self.path), f"holds another experiment: {'; '.join(differences)}; give another --out")
        if self._begun:
            return
        self._begun = True
        self._files.sweep()
        self._files.remove([_RESULTS] if _RESULTS in self._files.files() else [])  # until this run ends too
        self._start = time.perf_counter()
        runs = self.environments()
        self.write_json(_ENVIRONMENT, {"runs": [*runs, describe_environment()]})
        self.log(f"{name} resumed" if runs else f"{name} begun", show=False)

    def environments(self) -> list[dict[str, Any]]:
        """Code, libraries and machine of each run that worked here, in order."""
        described = self.read_json(_ENVIRONMENT)
        runs = [] if described is None else described.get("runs")
        if not isinstance(runs, list) or not all(map(is_environment, runs)):
            raise BadResults(str(self.path / _ENVIRONMENT), "is damaged")
        return runs

    def log(self, text: str, *, show: bool = True) -> None:
        """Append a line to the log, with the time in UTC and the seconds since this run began, and show it."""
        content = f"{utc_now()} +{time.perf_counter() - self._start:.1f} {' '.join(text.splitlines())}\n".encode()
        with open(self.path / _LOG, "ab+") as log:
            if size := log.seek(0, SEEK_END):
                log.seek(size - 1)
                if log.read() != b"\n":  # a run was killed while it wrote
                    content = b"\n" + content
            log.write(content)
        self._logged = time.perf_counter()
        if show:
            notify(text)

    def log_progress(self, text: str) -> None:
        """Log how far a run is, once a minute at most and without showing it: if it is killed, its seconds count."""
        if time.perf_counter() - self._logged >= _SECONDS_BETWEEN_LINES:
            self.log(text, show=False)

    def seconds(self) -> float:
        """Seconds of computing by all runs, up to the last line that each has logged."""
        try:
            lines = (self.path / _LOG).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return 0.0
        total = last = 0.0
        for match in filter(None, map(_LOG_LINE.match, lines)):
            now = float(match["seconds"])
            total, last = (total + now - last, now) if now >= last else (total + now, now)
        return total

    def finish(
        self,
        tables: Sequence[ResultTable],
        values: Mapping[str, Any] | None = None,
        notes: Sequence[str] = (),
        plots: Sequence[str] = (),
    ) -> ExperimentResult:
        """Write ``results.json``, with this process's command line and the seconds of all runs."""
        description = self.describe()
        if description is None:
            raise BadResults(str(self.path), "holds no experiment that could end")
        self.log(f"{description.name} finished", show=False)
        result = ExperimentResult(
            description.name,
            format_command(),
            round(self.seconds(), 1),
            tuple(tables),
            dict(values or {}),
            tuple(notes),
            tuple(plots),
        )
        self.write_json(_RESULTS, result.to_json())
        return result

    def result(self) -> ExperimentResult | None:
        """What the experiment found; None while it has not finished."""
        value = self.read_json(_RESULTS)
        try:
            return None if value is None else ExperimentResult.from_json(value)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise BadResults(str(self.path / _RESULTS), "is damaged") from error

    def subfolder(self, name: str) -> Path:
        """A folder in this one, made if necessary."""
        path = self.path / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def read_json(self, name: str) -> dict[str, Any] | None:
        """The object in a JSON file here; None if there is no such file."""
        try:
            value = json.loads(self._files.read(name))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise BadResults(str(self.path / name), "is damaged") from error
        if not isinstance(value, dict):
            raise BadResults(str(self.path / name), "is damaged")
        return value

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Write a JSON file here, whole or not at all."""
        text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
        self._files.write(name, f"{text}\n".encode())


def find_runs(folder: Path) -> list[Path]:
    """The folders at or below one that hold certificates of a data set, as `ellzero report` reads them."""
    return sorted(path.parent for path in folder.rglob(RUN_MANIFEST))
