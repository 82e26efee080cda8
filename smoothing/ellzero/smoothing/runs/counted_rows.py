"""The votes of a run's rows, as certificates have them. Needs no torch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ellzero.audit import CountedVotes, make_looks
from ellzero.audit.counted_votes import StatedLook
from ellzero.audit.looks import STOPPING
from ellzero.core.errors import BadResults
from ellzero.core.numbers import read_failure
from ellzero.smoothing.runs.result_store import ResultStore


@dataclass(frozen=True)
class CountedRow:
    """An input's votes, and what is stated of them."""

    index: int
    votes: CountedVotes
    prediction: int
    radius: int | None
    lower: Fraction
    upper: Fraction | None
    contradictions: tuple[str, ...] = ()  # what other columns say against the votes


def read_rows(store: ResultStore) -> Iterator[CountedRow]:
    """The rows of a run in the order of its inputs. `BadResults` if they are of another kind, or damaged."""
    run = store.manifest()
    if run is None:
        raise BadResults(store.uri, "holds no results of ellzero")
    if run.get("kind") is not None:
        raise BadResults(store.uri, f"holds no votes, but {run['kind']}")
    table = store.table()
    for batch in table.to_batches(max_chunksize=1_000):
        for row in batch.to_pylist():
            try:
                yield _read_row(run, row)
            except (KeyError, ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError) as error:
                raise BadResults(store.uri, f"has a damaged description of the input {row['index']}") from error


def _read_row(run: Mapping[str, Any], row: Mapping[str, Any]) -> CountedRow:
    failure, stopping, runner_up = read_failure(run["failure"]), str(run["stopping"]), bool(run["runner_up"])
    if stopping not in STOPPING:
        raise ValueError(stopping)
    counts, selection, selected, n = tuple(row["counts"]), tuple(row["selection"]), row["selected"], int(run["n"])
    rivals = row["look_rivals"] or [None] * len(row["looks"] or ())
    # A run lists its looks with their shares; those that are not there are not those of the rule, which shows later.
    shares = {look: Fraction(share) for look, share in run.get("looks", [])}
    staged = tuple(
        StatedLook(look["n"], shares.get(look["n"], Fraction(0)), look["count"], rival)
        for look, rival in zip(row["looks"] or (), rivals, strict=True)
    )
    votes = CountedVotes(
        noise=run["noise"],
        d=row["d"],
        selected=selected,
        selection=selection,
        counts=counts,
        looks=make_looks(counts, selected, n, failure, stopping, runner_up, staged),
        n0=int(run["n0"]),
        n=n,
        failure=failure,
        seed=int(run["seed"]),
        stopping=stopping,
        runner_up=runner_up,
        top_k=int(run.get("top_k", 1)),
    )
    upper = row["upper_bound"]
    lower = Fraction(row["lower_bound"])
    return CountedRow(
        row["index"],
        votes,
        row["prediction"],
        row["radius"],
        lower,
        None if upper is None else Fraction(upper),
        tuple(_list_contradictions(row, votes)),
    )


def _list_contradictions(row: Mapping[str, Any], votes: CountedVotes) -> Iterator[str]:
    """Columns that repeat what the votes say, and say something else."""
    if row["drawn"] != votes.drawn:
        yield "drawn is not the number of votes"
    if row["count"] != (votes.counts[votes.selected] if 0 <= votes.selected < len(votes.counts) else None):
        yield "count is not that of the class"
    if any(row[norm] is not None for norm in ("l1", "l2", "linf")):
        yield "radii in l1, l2 or linf do not follow from these votes"
