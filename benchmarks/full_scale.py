"""`make bench-full`: the paper's algorithm at ImageNet size, which took its authors 4 days, beside the engine."""

import os
import resource
import time
from decimal import Decimal

import click

from ellzero.certificates import Discrete, single_threshold, thresholds
from ellzero.cli.thresholds import paper_rows

PROCESSES = {"main process": resource.RUSAGE_SELF, "a worker": resource.RUSAGE_CHILDREN}


@click.command()
@click.option("--d", default=150_528)
@click.option("--k", default=255)
@click.option("--alpha", default="0.2")
@click.option("--r", default=8)
@click.option("--workers", default=os.cpu_count() or 1)
def main(d: int, k: int, alpha: str, r: int, workers: int) -> None:
    noise = Discrete(k, alpha)
    start = time.perf_counter()
    (row,) = paper_rows(noise, d, [r], 20, workers)
    paper = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(1_000):
        single_threshold.complement(noise, r)
    single = (time.perf_counter() - start) / 1_000
    exact, error_bound = thresholds(noise, [r])[0], Decimal(row.extra["error_bound"])
    largest = {who: resource.getrusage(whom).ru_maxrss >> 10 for who, whom in PROCESSES.items()}
    print(f"d = {d}, {noise}, r = {r}, {workers} processes")
    print(f"the paper's algorithm: {row.threshold} in {paper:,.0f} s, at most {error_bound} too high")
    print(f"the engine:            {exact} in {single * 1e6:.1f} µs: {paper / single:,.0f} times faster")
    print("largest memory: " + ", ".join(f"{who} {mib:,} MiB" for who, mib in largest.items()))
    if not exact <= row.threshold <= exact + error_bound:
        raise SystemExit("they disagree")


if __name__ == "__main__":
    main()
