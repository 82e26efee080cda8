"""What `make bench` prints: ratios of times measured side by side in one run, absolute times beside them."""

import platform
import time
from collections.abc import Iterator
from itertools import islice

from bench_families import families
from bench_serve import service
from bench_smoothing import certification
from bench_tables import lookups, pipeline
from bench_trees import smoothed_trees
from measuring import REPEATS, Measurement, seconds

from ellzero.certificates import Discrete, column, paper_threshold, recurrence, single_threshold, thresholds
from ellzero.certificates.rounding import CeilingQuery


def paper_against_cell() -> Iterator[Measurement]:
    noise, r = Discrete(255, "0.1"), 8
    single = seconds(lambda: single_threshold.complement(noise, r), 2_000)
    whole = seconds(lambda: thresholds(noise, [r]), 2_000)
    yield Measurement(
        "one call of thresholds() / its cell, K=255, α=0.1, r=8", f"{whole / single:.1f}", f"{whole * 1e6:.1f} µs"
    )
    for d in (784, 3_072):
        paper = seconds(lambda d=d: paper_threshold(noise, d, r))  # type: ignore[misc]
        times = f"{paper:.3f} s / {single * 1e6:.2f} µs"
        yield Measurement(
            f"the paper's algorithm / single cell, K=255, α=0.1, r=8, d={d}", f"{paper / single:,.0f}", times
        )


def exact_against_fast_column() -> Iterator[Measurement]:
    noise, query, radii = Discrete(255, "0.01"), CeilingQuery(20), 7_424
    start = time.perf_counter()
    exact = list(islice(recurrence.iter_answers_exactly(noise, query), radii))
    slow = time.perf_counter() - start
    fast = seconds(lambda: list(islice(recurrence.iter_answers(noise, query, radii), radii)))
    if list(islice(recurrence.iter_answers(noise, query, radii), radii)) != exact:
        raise SystemExit("the fast column differs from the exact one")
    times = f"{slow:.2f} s / {fast:.4f} s, {fast / radii * 1e6:.1f} µs a radius"
    yield Measurement(
        f"exact-integer column / fast column, K=255, α=0.01, {radii:,} radii", f"{slow / fast:.0f}", times
    )


def cost_of_far_radii() -> Iterator[Measurement]:
    for k, alpha in ((1, "0.51"), (31, "0.03")):
        near: list[float] = []
        far: list[float] = []
        for _ in range(REPEATS):
            answers = recurrence.iter_answers(Discrete(k, alpha), CeilingQuery(20), 51_000)
            rows = 0
            for start, stop, times in ((50, 150, near), (49_500, 50_500, far)):
                rows += sum(1 for _ in islice(answers, start - rows))
                begin = time.perf_counter()
                got = sum(1 for _ in islice(answers, stop - start))
                times.append((time.perf_counter() - begin) / got)
                rows += got
            if rows != 50_500:
                raise SystemExit(f"rows are missing: {rows}")
        times_text = f"{min(far) * 1e6:.1f} µs / {min(near) * 1e6:.1f} µs"
        yield Measurement(
            f"a radius near r=50,000 / near r=100, K={k}, α={alpha}", f"{min(far) / min(near):.2f}", times_text
        )


def whole_columns() -> Iterator[Measurement]:
    for k, alpha in ((255, "0.1"), (1, "0.8"), (1, "0.51")):
        noise = Discrete(k, alpha)
        rows = len(column(noise).rows)
        list_time = seconds(lambda noise=noise, rows=rows: thresholds(noise, range(rows)))  # type: ignore[misc]
        full = seconds(lambda noise=noise: column(noise))  # type: ignore[misc]
        times = f"{full * 1e3:.2f} ms / {list_time * 1e3:.2f} ms, {list_time / rows * 1e6:.1f} µs a radius"
        yield Measurement(
            f"column() with min_p / thresholds(), K={k}, α={alpha}, {rows:,} radii", f"{full / list_time:.2f}", times
        )


def main() -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, fastest of {REPEATS} runs\n")
    print(f"{'ratio':>9}  what")
    benchmarks = (
        paper_against_cell,
        exact_against_fast_column,
        cost_of_far_radii,
        whole_columns,
        families,
        lookups,
        service,
        certification,
        smoothed_trees,
        pipeline,
    )
    for benchmark in benchmarks:
        for line in benchmark():
            print(f"{line.ratio:>9}  {line.what}  ({line.times})", flush=True)


if __name__ == "__main__":
    main()
