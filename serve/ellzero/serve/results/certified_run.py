"""A run over a data set as its folder has it: checked, summarized, and its inputs in order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, Field, ValidationError, field_validator

from ellzero.core.errors import BadResults, StorageFailed
from ellzero.core.numbers import read_failure
from ellzero.core.part_store import RUN_MANIFEST, PartStore
from ellzero.core.schemas import CertificateLook, CertifiedInput, CertifiedShare, ReportAnswer, ResultsInfo
from ellzero.core.text import escape_line
from ellzero.smoothing.noise.registry import describe_noise
from ellzero.smoothing.runs.metrics import Outcome, summarize
from ellzero.smoothing.runs.result_store import SCHEMA as VOTES_SCHEMA, ResultStore
from ellzero.trees.result_schema import KIND, SCHEMA

ORDERS = ("index", "label", "prediction", "radius", "count", "drawn", "lower_bound")
_MOST_EXACT = 2**53  # integers beyond it are rounded by some readers of JSON
_MOST_INPUTS = 2_000_000
_MOST_CHARACTERS = 2_000
_MOST_BYTES = 2**20  # of a run.json
_COLUMNS = [
    *("index", "label", "prediction", "radius", "selected", "count", "drawn"),
    *("lower_bound", "upper_bound", "looks", "d"),
]


class _Model(BaseModel):
    name: str
    architecture: str


class _Data(BaseModel):
    name: str
    split: str
    part: str | None = None
    sha256: str


class _VotesRun(BaseModel):
    """What the service needs of a run.json; it may say more."""

    kind: Literal[None] = None
    model: _Model
    data: _Data
    noise: dict[str, Any]
    n: Annotated[int, Field(ge=1, le=_MOST_EXACT)]
    failure: str
    stopping: str
    looks: list[tuple[int, str]] = []  # of the plan, each with its share of the failure
    top_k: Annotated[int, Field(ge=1)] = 1

    @field_validator("failure")
    @classmethod
    def check_failure(cls, failure: str) -> str:
        """A page says with what confidence certificates hold."""
        read_failure(failure)
        return failure


class _TreesRun(BaseModel):
    """As `_VotesRun`, for exact certificates."""

    kind: Literal["trees"]
    model: _Model
    data: _Data
    noise: dict[str, Any]


class OtherResults(BadResults):
    """A folder with results of another kind than certificates, in which nothing is wrong."""


class CertifiedRun:
    """A run and the inputs that have a result, in the order of their indices."""

    def __init__(self, name: str, path: Path) -> None:
        """Read a folder. `BadResults` says what is wrong with it, `OtherResults` what it holds instead."""
        self.name, self.path = name, path
        manifest = _read_manifest(path)
        described = _describe(path, manifest)
        self.by_votes = isinstance(described, _VotesRun)
        self.data_digest = described.data.sha256
        self.rows = _read_rows(path, self.by_votes)
        self._manifest = manifest
        self._failures = dict(described.looks) if isinstance(described, _VotesRun) else {}
        self._outcomes = [
            Outcome(*row)
            for row in zip(*(self.rows[name].to_pylist() for name in ("label", "prediction", "radius")), strict=True)
        ]
        self.info = self._summarize(described)

    @cached_property
    def report(self) -> ReportAnswer:
        """The metrics of the inputs so far, of which there must be one at least."""
        d = int(pc.max(self.rows["d"]).as_py())
        largest = max(outcome.certified for outcome in self._outcomes)
        report = summarize(self._outcomes, min(max(largest, 0) + 1, d))
        drawn = None
        if self.info.n is not None:
            drawn = pc.sum(self.rows["drawn"]).as_py() / (len(self.rows) * self.info.n)
        return ReportAnswer(
            info=self.info,
            d=d,
            abstained=report.abstained,
            wrong=report.wrong,
            median_radius=report.median_radius,
            votes_drawn=drawn,
            accuracy=[CertifiedShare(**asdict(each)) for each in report.accuracy],
            run=_keep_exact(self._manifest),
        )

    def inputs(self, order: str, descending: bool, offset: int, limit: int) -> list[CertifiedInput]:
        """Some inputs in the order of a column, equal ones by index. Abstentions come before the radius 0."""
        keys = pa.table({"value": pc.fill_null(self.rows[order], -1), "index": self.rows["index"]})
        direction = "descending" if descending else "ascending"
        indices = pc.sort_indices(keys, sort_keys=[("value", direction), ("index", "ascending")])
        return [self._make_input(row) for row in self.rows.take(indices[offset : offset + limit]).to_pylist()]

    def _make_input(self, row: Mapping[str, Any]) -> CertifiedInput:
        abstains = row["radius"] is None
        return CertifiedInput(
            index=row["index"],
            label=row["label"],
            prediction=None if abstains else row["prediction"],
            radius=row["radius"],
            selected=None if row["selected"] < 0 else row["selected"],
            count=row["count"],
            drawn=row["drawn"],
            lower_bound=row["lower_bound"],
            upper_bound=row["upper_bound"],
            looks=[
                CertificateLook(n=look["n"], failure=self._failures.get(look["n"], "unknown"), count=look["count"])
                for look in row["looks"] or ()
            ],
        )

    def _summarize(self, described: "_VotesRun | _TreesRun") -> ResultsInfo:
        report = summarize(self._outcomes, 0) if self._outcomes else None
        data = described.data
        return ResultsInfo(
            name=self.name,
            evidence="votes" if self.by_votes else "exact",
            model=_escape(described.model.name),
            data=_escape(data.name),
            split=_escape(data.split if data.part is None else f"{data.part} of {data.split}"),
            noise=_escape(describe_noise(described.noise) + _describe_rule(described)),
            n=described.n if isinstance(described, _VotesRun) else None,
            failure=_escape(described.failure) if isinstance(described, _VotesRun) else None,
            stopping=_escape(described.stopping) if isinstance(described, _VotesRun) else None,
            inputs=len(self._outcomes),
            mean_radius=None if report is None else report.mean_radius,
            mean_radius_error=None if report is None or report.inputs == 1 else report.mean_radius_error,
        )


def _describe_rule(described: "_VotesRun | _TreesRun") -> str:
    """What is certified, if it is not that the class remains the first; said beside the noise, which decides it too."""
    top_k = described.top_k if isinstance(described, _VotesRun) else 1
    return f"; certified to remain among the {top_k} most probable" if top_k > 1 else ""


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        if (path / RUN_MANIFEST).stat().st_size > _MOST_BYTES:
            raise BadResults(str(path / RUN_MANIFEST), f"has more than {_MOST_BYTES:,} bytes")
        manifest = ResultStore(str(path)).manifest()
    except (RecursionError, TypeError) as error:
        raise BadResults(str(path / RUN_MANIFEST), "is damaged") from error
    except StorageFailed as error:
        raise BadResults(str(path / RUN_MANIFEST), f"cannot be read: {error.reason}") from error
    if manifest is None:
        raise BadResults(str(path), "holds no results of ellzero")
    return manifest


def _describe(path: Path, manifest: Mapping[str, Any]) -> "_VotesRun | _TreesRun":
    if manifest.get("kind") not in (None, KIND):
        raise OtherResults(
            str(path), f"holds results of another kind than certificates: {_escape(str(manifest['kind']))}"
        )
    if "certificate" in manifest:
        raise OtherResults(str(path), f"holds no certificates: {_escape(str(manifest['certificate']))}")
    kind = _TreesRun if manifest.get("kind") == KIND else _VotesRun
    try:
        described = kind.model_validate(manifest)
        describe_noise(described.noise)
    except ValidationError as error:
        field = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BadResults(str(path / RUN_MANIFEST), f"is damaged: {field} is missing or cannot be read") from error
    except (KeyError, TypeError, ValueError) as error:
        raise BadResults(str(path / RUN_MANIFEST), "is damaged: it does not describe its noise") from error
    return described


def _read_rows(path: Path, by_votes: bool) -> pa.Table:
    store = ResultStore(str(path)) if by_votes else PartStore(str(path), SCHEMA)
    try:
        claimed = store.count_claimed()
        if claimed > _MOST_INPUTS:
            raise BadResults(str(path), f"has {claimed:,} inputs, and at most {_MOST_INPUTS:,} are read into memory")
        columns = [name for name in _COLUMNS if name in store.schema.names] if by_votes else None
        table = store.table(columns) if claimed else store.schema.empty_table()
        return (table if by_votes else _add_votes(table)).select(_COLUMNS)
    except StorageFailed as error:
        raise BadResults(str(path), f"cannot be read: {error.reason}") from error
    except IndexError as error:
        raise BadResults(str(path), "has inputs without bounds") from error


def _add_votes(table: pa.Table) -> pa.Table:
    """Exact results with the columns of votes: none were drawn, and the lower bound is that of the answer."""
    predictions, lows, highs = (table[name].to_pylist() for name in ("prediction", "low", "high"))
    bounds = [_bound(*row) for row in zip(predictions, lows, highs, strict=True)]
    columns = {
        "selected": pa.array(predictions, pa.int32()),
        "count": pa.array([0] * len(table), pa.int64()),
        "drawn": pa.array([0] * len(table), pa.int64()),
        "lower_bound": pa.array(bounds, pa.float64()),
        "upper_bound": pa.nulls(len(table), pa.float64()),
        "looks": pa.nulls(len(table), VOTES_SCHEMA.field("looks").type),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def _bound(prediction: int, low: Sequence[float], high: Sequence[float]) -> float:
    """The probability of the answer, rounded down. Bounds are of the second class's, for 0 and more changes."""
    if prediction < 0:
        return 0.5
    if prediction == 1:
        return low[0]
    nearest = 1 - high[0]
    return nearest if Fraction(nearest) <= 1 - Fraction(high[0]) else math.nextafter(nearest, 0)


def _keep_exact(value: Any) -> Any:
    """JSON in which integers that readers may round are text, and all text can be written."""
    match value:
        case dict():
            return {_escape(key): _keep_exact(one) for key, one in value.items()}
        case list():
            return [_keep_exact(one) for one in value]
        case str():
            return _escape(value)
        case int() if abs(value) > _MOST_EXACT:
            return str(value)
        case _:
            return value


def _escape(text: str) -> str:
    return escape_line(text, _MOST_CHARACTERS)
