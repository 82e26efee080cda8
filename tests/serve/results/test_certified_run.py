"""A run as its folder has it: metrics against counting by hand, inputs in any order, and damaged folders refused."""

import json
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from serve.results_folders import RUN, N, certified, certify_bits, write_results

from ellzero.core.errors import BadResults
from ellzero.serve.results.certified_run import ORDERS, CertifiedRun
from ellzero.smoothing import Certified

results = st.tuples(
    st.integers(0, 2),
    st.builds(
        certified,
        st.integers(0, 2),
        st.none() | st.integers(0, 12),
        st.integers(0, 500),
        st.integers(500, N),
    ),
)


@settings(max_examples=25)
@given(st.lists(results, min_size=1, max_size=20))
def test_the_report_counts_what_is_certified_and_right(rows: list[tuple[int, Certified]]) -> None:
    with TemporaryDirectory() as folder:
        write_results(Path(folder), rows)
        run = CertifiedRun("run", Path(folder))
    report = run.report
    right = [result.radius for label, result in rows if result.radius is not None and result.prediction == label]
    assert run.info.inputs == len(rows)
    assert report.info.mean_radius == pytest.approx(sum(right) / len(rows))
    assert report.abstained == sum(result.radius is None for _, result in rows)
    assert report.wrong == len(rows) - report.abstained - len(right)
    assert report.votes_drawn == pytest.approx(sum(result.drawn for _, result in rows) / (N * len(rows)))
    assert [each.r for each in report.accuracy] == list(range(len(report.accuracy)))
    for each in report.accuracy:
        assert each.share == sum(radius >= each.r for radius in right) / len(rows)
        assert 0 <= each.low <= each.share <= each.high <= 1
    # It ends where nothing is certified, or where all units are changed.
    last = report.accuracy[-1]
    assert last.r == report.d == 12 or (last.share == 0 and (last.r <= 1 or report.accuracy[-2].share > 0))


@settings(max_examples=25)
@given(
    st.lists(results, min_size=1, max_size=20),
    st.sampled_from(ORDERS),
    st.booleans(),
    st.integers(0, 21),
    st.integers(1, 20),
)
def test_inputs_come_in_the_order_of_a_column_and_equal_ones_by_index(
    rows: list[tuple[int, Certified]], order: str, descending: bool, offset: int, limit: int
) -> None:
    def value(place: int) -> Any:
        label, result = rows[place]
        if order in ("index", "label"):
            return place if order == "index" else label
        found = getattr(result, order)
        return -1 if found is None else found

    with TemporaryDirectory() as folder:
        write_results(Path(folder), rows)
        run = CertifiedRun("run", Path(folder))
    expected = sorted(range(len(rows)), key=lambda place: ((-1 if descending else 1) * value(place), place))
    listed = run.inputs(order, descending, offset, limit)
    assert [row.index for row in listed] == expected[offset : offset + limit]
    for row in listed:
        label, result = rows[row.index]
        assert (row.label, row.radius, row.selected) == (label, result.radius, result.selected)
        assert row.prediction == (None if result.radius is None else result.prediction)
        assert (row.count, row.drawn) == (result.count, result.drawn)
        assert row.lower_bound == result.lower_bound


def test_a_run_of_trees_is_exact_and_its_bounds_hold(tmp_path: Path) -> None:
    trees = certify_bits(tmp_path, tmp_path / "results")
    run = CertifiedRun("trees", tmp_path / "results")
    assert (run.info.evidence, run.info.n, run.info.failure, run.info.stopping) == ("exact", None, None, None)
    assert run.report.votes_drawn is None
    saved, data = trees.load()
    p = saved.estimator.probability_bounds(data.features, 0, exact=True)[0][:, 0]
    listed = run.inputs("index", False, 0, 100)
    assert {row.prediction for row in listed} == {None, 0, 1}
    for row in listed:
        second = Fraction(p[row.index])
        own = {None: Fraction(1, 2), 0: 1 - second, 1: second}[row.prediction]
        assert 0 <= own - Fraction(row.lower_bound) < Fraction(1, 10**15)
        assert (row.count, row.drawn, row.selected) == (0, 0, row.prediction)


def test_a_run_without_results_yet_has_a_name_and_no_metrics(tmp_path: Path) -> None:
    write_results(tmp_path, [])
    info = CertifiedRun("begun", tmp_path).info
    assert (info.inputs, info.mean_radius, info.mean_radius_error) == (0, None, None)


def test_a_run_says_that_its_classes_remain_among_several(tmp_path: Path) -> None:
    write_results(tmp_path, [(0, certified(0, 3))])
    manifest = tmp_path / "run.json"
    plain = CertifiedRun("run", tmp_path).info.noise
    assert plain == "K = 255, α = 1/5 per coordinate"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"top_k": 3}))
    (part,) = tmp_path.glob("part-*")
    part.unlink()
    assert CertifiedRun("run", tmp_path).info.noise == f"{plain}; certified to remain among the 3 most probable"


def test_one_input_has_no_interval(tmp_path: Path) -> None:
    write_results(tmp_path, [(0, certified(0, 3))])
    info = CertifiedRun("one", tmp_path).info
    assert (info.mean_radius, info.mean_radius_error) == (3, None)


def test_integers_that_readers_of_json_round_are_text(tmp_path: Path) -> None:
    write_results(tmp_path, [(0, certified(0, 3))])
    run = CertifiedRun("run", tmp_path).report.run
    assert run["seed"] == str(RUN["seed"])
    assert run["n"] == N


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": None}, "is damaged: n is missing or cannot be read"),
        ({"n": 0}, "is damaged: n is missing or cannot be read"),
        ({"n": 10**30}, "is damaged: n is missing or cannot be read"),
        ({"failure": "abc"}, "is damaged: failure is missing or cannot be read"),
        ({"failure": "2"}, "is damaged: failure is missing or cannot be read"),
        ({"more": "x" * 2**20}, "has more than 1,048,576 bytes"),
        ({"model": 3}, "is damaged: model is missing or cannot be read"),
        ({"data": {"name": "x", "split": "test"}}, "is damaged: data.sha256 is missing"),
        ({"noise": {}}, "is damaged: it does not describe its noise"),
        ({"noise": {"family": ["discrete"]}}, "is damaged: it does not describe its noise"),
        ({"version": "one"}, "is damaged"),
        ({"version": 99}, "was written by a later version of ellzero"),
        ({"kind": "trees"}, "is damaged"),
        ({"format": "another"}, "holds no results of ellzero"),
        ({"kind": "search"}, "holds results of another kind than certificates: search"),
        ({"certificate": "none: grey images"}, "holds no certificates: none: grey images"),
    ],
)
def test_a_damaged_description_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    write_results(tmp_path, [(0, certified(0, 1))])
    manifest = json.loads((tmp_path / "run.json").read_text()) | change
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(BadResults, match=message):
        CertifiedRun("run", tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_description_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(BadResults):
        CertifiedRun("run", tmp_path)


def test_a_file_whose_name_claims_a_billion_inputs_is_refused_at_once(tmp_path: Path) -> None:
    """Its inputs are not even counted one by one, which would take gigabytes."""
    write_results(tmp_path, [(0, certified(0, 1))])
    (tmp_path / "part-000000001-999999999.parquet").touch()
    with pytest.raises(BadResults, match="has 1,000,000,000 inputs, and at most 2,000,000 are read into memory"):
        CertifiedRun("run", tmp_path)


def test_a_damaged_page_of_a_file_is_named(tmp_path: Path) -> None:
    write_results(tmp_path, [(0, certified(0, 1))] * 200)
    (part,) = tmp_path.glob("part-*")
    content = bytearray(part.read_bytes())
    content[4:40] = bytes(36)  # the first column's data
    part.write_bytes(content)
    with pytest.raises(BadResults, match="is damaged; remove it") as refused:
        CertifiedRun("run", tmp_path)
    assert Path(refused.value.place).name == part.name
