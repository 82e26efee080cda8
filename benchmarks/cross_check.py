"""`make cross-check`: a million random cells of the discrete and of the sparse noise, each by two routes.

*discrete*: one route is the column, steps from r to r+1, in integers and then in balls. The other is the single cell:
down from t = r, in integers alone. Compared are the ceiling at 10^-20, whether it is exact, and the least double.

*sparse*: one route is sums over products of blocks, found by bisection: in integers, and rows from balls where totals
have more than 1,024 bits. The other sums binomial probabilities, in integers, over all pairs of numbers of ones among
added and deleted bits, and sorts them by their ratios as fractions. Compared are the thresholds themselves, as
fractions, and the same three entries of their rows.
"""

import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from itertools import islice
from math import ceil, comb, inf, log2, nextafter
from typing import NamedTuple

import click

from ellzero.certificates import Discrete, Sparse, recurrence, single_threshold
from ellzero.certificates.budget_thresholds import HALF, inverse_of_counts, row_of_counts
from ellzero.certificates.exact_thresholds import column_end
from ellzero.certificates.products import Products
from ellzero.certificates.rounding import Ceiling, Row, RowQuery
from ellzero.core.progress import show_progress

DIGITS = 20
R_MAX = 400
COLUMNS_A_TASK = 16
SQUARES_A_TASK = 2
MOST_CHANGES = 12  # of each kind, of the sparse noise


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


def check_square(seed: int) -> CellTally:
    source = random.Random(seed)
    tally = CellTally(Counter(), [])
    for _ in range(SQUARES_A_TASK):
        family, products = random_sparse(source), Products()
        for add in range(MOST_CHANGES + 1):
            for delete in range(MOST_CHANGES + 1):
                tally.counts["cells"] += 1
                tally.counts["flat"] += family.p_add + family.p_del == 1
                tally.counts["in reversed order"] += family.p_add + family.p_del > 1
                tau = inverse_of_counts(family, (add, delete), HALF, products)
                row = row_of_counts(family, (add, delete), HALF, DIGITS, products)
                exact = sum_binomials(family, add, delete)
                if tau != exact or row != round_row(exact):
                    tally.differing.append(f"{family}, add = {add}, delete = {delete}")
    return tally


def random_sparse(source: random.Random) -> Sparse:
    """Probabilities as people use them, or of any denominator; some flat, some reversed."""
    denominator = source.choice([10, 100, 1_000, source.randint(2, 10**6), source.randint(2, 10**18)])
    p_add, p_del = (Fraction(source.randint(1, denominator - 1), denominator) for _ in range(2))
    if source.random() < 0.5:
        p_add = Fraction(source.randint(1, 50), 1_000)
    return Sparse(p_add, 1 - p_add if source.random() < 0.05 else p_del)


def round_row(tau: Fraction) -> Row:
    """The ceiling, whether it is τ, and the least double above τ."""
    units = ceil(tau * 10**DIGITS)
    nearest = float(tau)
    above = nearest if Fraction(nearest) > tau else nextafter(nearest, inf)
    return Row(Ceiling(units, Fraction(units, 10**DIGITS) == tau), inf if tau == 1 else above)


def sum_binomials(family: Sparse, add: int, delete: int) -> Fraction:
    """ρ⁻¹(1/2): the x-mass of the outcomes of largest ratio, with x̄-mass 1/2."""
    up, down = family.p_add, family.p_del
    unit = up.denominator * down.denominator
    up_ones, up_zeros = int(up * unit), int((1 - up) * unit)  # of a bit that is 0 without noise
    down_ones, down_zeros = int((1 - down) * unit), int(down * unit)  # of a bit that is 1 without noise
    masses: dict[int, list[int]] = {}
    for i in range(add + 1):
        for j in range(delete + 1):
            ways = comb(add, i) * comb(delete, j)
            mass = masses.setdefault(i - j, [0, 0])
            mass[0] += ways * up_ones**i * up_zeros ** (add - i) * down_ones**j * down_zeros ** (delete - j)
            mass[1] += ways * down_ones**i * down_zeros ** (add - i) * up_ones**j * up_zeros ** (delete - j)
    ordered = sorted(masses.values(), key=lambda mass: Fraction(mass[0], mass[1]), reverse=True)
    total: int = unit ** (add + delete)
    taken, missing = Fraction(0), Fraction(total) / 2
    for x, xbar in ordered:
        share = min(Fraction(1), missing / Fraction(xbar))
        taken += share * Fraction(x)
        missing -= share * Fraction(xbar)
    return taken / total


@click.command()
@click.option("--cells", default=1_000_000, help="How many cells at least.")
@click.option("--seed", default=0)
@click.option("--workers", default=os.cpu_count() or 1)
def main(cells: int, seed: int, workers: int) -> None:
    differing = 0
    for kind, check in (("discrete", check_columns), ("sparse", check_square)):
        start = time.perf_counter()
        total = CellTally(Counter(), [])
        tasks = 0
        with ProcessPoolExecutor(workers) as pool, show_progress(cells, f"{kind} cells", cells * 2e-4) as bar:
            while total.counts["cells"] < cells:
                first = seed * 10**9 + tasks
                tasks += 8 * workers
                for tally in pool.map(check, range(first, first + 8 * workers)):
                    total.counts.update(tally.counts)
                    total.differing.extend(tally.differing)
                    bar.advance(tally.counts["cells"])
        print(f"{kind} noise: seed {seed}, {time.perf_counter() - start:,.0f} s on {workers} processes")
        print(", ".join(f"{count:,} {what}" for what, count in total.counts.items()))
        print(f"{len(total.differing)} cells differ between the two routes")
        for line in total.differing[:20]:
            print(line)
        differing += len(total.differing)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
