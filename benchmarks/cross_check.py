"""`make cross-check`: a million random cells by two routes that share no recurrence.

One route is the column: steps from r to r+1, in integers and then in balls. The other is the single cell: down from
t = r, in integers alone. Compared are the ceiling at 10^-20, whether it is exact, and the least double.
"""

import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import islice
from math import log2
from typing import NamedTuple

import click

from ellzero.certificates import Discrete, recurrence, single_threshold
from ellzero.certificates.exact_thresholds import column_end
from ellzero.certificates.rounding import RowQuery
from ellzero.core.progress import show_progress

DIGITS = 20
R_MAX = 400
COLUMNS_A_TASK = 16


class CellTally(NamedTuple):
    counts: Counter[str]
    differing: list[str]


def random_noise(source: random.Random) -> Discrete:
    """K of every size, α anywhere in (0, 1), often close to β, above it or below."""
    k = source.choice([1, 2, 3, 7, 15, 16, 31, 255, source.randint(1, 1_000), source.randint(1, 10**8)])
    denominator = source.choice([10, 100, source.randint(2, 1_000), source.randint(2, 10**6)])
    alpha = Fraction(source.randint(1, denominator - 1), denominator)
    if source.random() < 0.4:
        alpha = min(Fraction(1, k + 1) * (1 + (2 * alpha - 1) / source.choice([1, 2, 10])), Fraction(999, 1000))
    return Discrete(k, alpha)


def check_columns(seed: int) -> CellTally:
    source, query = random.Random(seed), RowQuery(DIGITS)
    tally = CellTally(Counter(), [])
    for _ in range(COLUMNS_A_TASK):
        noise = random_noise(source)
        a, _, b, z = noise.weights
        last = column_end(noise, R_MAX, DIGITS)
        for r, row in enumerate(islice(recurrence.iter_answers(noise, query, last), last + 1)):
            tally.counts["cells"] += 1
            tally.counts["by balls"] += r * log2(z) >= recurrence.EXACT_BITS
            tally.counts["with α < β"] += a < b
            tally.counts["exact decimals"] += row.ceiling.exact
            if row != query.of_exact(*single_threshold.complement(noise, r)):
                tally.differing.append(f"{noise}, r = {r}")
            if row.ceiling.units == 10**DIGITS:
                break
    return tally


@click.command()
@click.option("--cells", default=1_000_000, help="How many cells at least.")
@click.option("--seed", default=0)
@click.option("--workers", default=os.cpu_count() or 1)
def main(cells: int, seed: int, workers: int) -> None:
    start = time.perf_counter()
    total = CellTally(Counter(), [])
    tasks = 0
    with ProcessPoolExecutor(workers) as pool, show_progress(cells, "cells", cells * 8e-5) as bar:
        while total.counts["cells"] < cells:
            first = seed * 10**9 + tasks
            tasks += 8 * workers
            for tally in pool.map(check_columns, range(first, first + 8 * workers)):
                total.counts.update(tally.counts)
                total.differing.extend(tally.differing)
                bar.advance(tally.counts["cells"])
    print(
        f"{tasks * COLUMNS_A_TASK:,} columns, seed {seed}, {time.perf_counter() - start:,.0f} s on {workers} processes"
    )
    print(", ".join(f"{count:,} {what}" for what, count in total.counts.items()))
    print(f"{len(total.differing)} cells differ between the two routes")
    for line in total.differing[:20]:
        print(line)
    sys.exit(1 if total.differing else 0)


if __name__ == "__main__":
    main()
