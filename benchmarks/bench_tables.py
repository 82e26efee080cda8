"""Tables and their precomputation, measured: the part of `make bench` that needs five minutes of two cores."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
from measuring import Measurement, seconds

from ellzero.certificates import Discrete
from ellzero.certificates.exact_thresholds import iter_column_rows
from ellzero.tables import Table, ThresholdIndex
from ellzero.tables.bundled import LOCATION

KS, ALPHAS, R_MAX = "1,2,3,4,7,9,15,19,31,63,127,255", "0.001:0.999:0.001", 50_000
_LOOKUPS = 1_000_000


class Run(NamedTuple):
    """A whole command, from its start to its end."""

    seconds: float
    driver_mib: float
    output: str


def precompute(out: Path, options: str) -> Run:
    """`ellzero precompute` as users run it, and the largest memory that its own process had."""
    line = f"--k {KS} --alpha {ALPHAS} --r-max {R_MAX} --out {out} {options}"
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "ellzero", "precompute", *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    largest = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
            largest = max(largest, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")))
        except (FileNotFoundError, ProcessLookupError, TypeError):  # it has just ended
            pass
        time.sleep(0.1)
    spent = time.perf_counter() - start
    output = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit("a run failed")
    return Run(spent, largest / 1024, output)


def one_column(_: object) -> float:
    """A second or so of the engine, and how long it took."""
    start = time.perf_counter()
    for _row in iter_column_rows(Discrete(1, "0.502"), 150_000):
        pass
    return time.perf_counter() - start


def gain_of_two_cores() -> float:
    """What two processes of the bare engine gain over one on this machine now, which bounds what any executor can."""
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(one_column, range(2)))
        rounds = [(one_column(None), max(pool.map(one_column, range(2)))) for _ in range(4)]
    return 2 * sum(alone for alone, _ in rounds) / sum(together for _, together in rounds)


def pipeline() -> Iterator[Measurement]:
    """The same grid in process and on Ray with two workers, by whole commands."""
    gains = [gain_of_two_cores()]
    with tempfile.TemporaryDirectory() as folder:
        local = precompute(Path(folder) / "local", "--executor local")
        ray = precompute(Path(folder) / "ray", "--executor ray --workers 2")
        gains.append(gain_of_two_cores())
        local_extents, ray_extents = (Table.open(f"{folder}/{name}").extents() for name in ("local", "ray"))
        if local_extents != ray_extents:
            raise SystemExit("the tables differ")
        loading_line = loading(f"{folder}/ray")
    rows = sum(extent.rows for extent in ray_extents.values())
    what = f"in process on one core / Ray on two, {rows:,} rows"
    for name, mine, theirs in (
        ("whole commands", local.seconds, ray.seconds),
        ("without start and end of Ray", seconds_inside(local), seconds_inside(ray)),
    ):
        yield Measurement(f"{what}, {name}", f"{mine / theirs:.2f}", f"{mine:.1f} s / {theirs:.1f} s")
    figures = " and ".join(f"{gain:.2f}" for gain in gains)
    inside = seconds_inside(local) / seconds_inside(ray)
    share = f"{inside / (sum(gains) / len(gains)):.2f}"
    yield Measurement("the latter / what two bare processes gain here over one", share, f"{figures} before and after")
    yield Measurement("engine time / total time in process", engine_share(local), local.output.splitlines()[1])
    yield Measurement("engine time / total time on Ray", engine_share(ray), ray.output.splitlines()[1])
    rates = f"{rows / local.seconds:,.0f} rows/s in process, {rows / ray.seconds:,.0f} rows/s on Ray"
    yield Measurement("largest memory of the driver on Ray, MiB", f"{ray.driver_mib:.0f}", rates)
    yield Measurement("how far the expected time was off", "", ray.output.splitlines()[2])
    yield loading_line


def seconds_inside(run: Run) -> float:
    """The time of a run as its own summary says it."""
    return float(run.output.splitlines()[1].split()[0].replace(",", ""))


def engine_share(run: Run) -> str:
    """The share of the workers' time that the engine took, as the summary says it."""
    return f"{int(run.output.partition('engine ')[2].partition('%')[0]) / 100:.2f}"


def loading(location: str) -> Measurement:
    """Loading an index, with every check of bytes and keys, against reading the same files by pyarrow."""
    rows = sum(extent.rows for extent in Table.open(location).extents().values())
    load = seconds(lambda: ThresholdIndex.open(location))
    bare = seconds(lambda: pq.read_table(location))
    times = f"{load * 1e3:.0f} ms / {bare * 1e3:.0f} ms"
    return Measurement(f"loading an index of {rows:,} rows / reading its files by pyarrow", f"{load / bare:.1f}", times)


def against_searchsorted(index: ThresholdIndex, noise: Discrete) -> Measurement:
    """A million probabilities against searchsorted alone on the same column."""
    p = np.random.default_rng(0).uniform(0.4, 1.0, _LOOKUPS)
    column = index.thresholds(noise).column.rows.min_p
    bare = seconds(lambda: column.searchsorted(p, "right"))
    lookup = seconds(lambda: index.radius(p, noise, 150_528))
    name = f"K={noise.k}, α={float(noise.alpha)}, {len(column):,} rows"
    times = f"{lookup * 1e3:.1f} ms / {bare * 1e3:.1f} ms"
    return Measurement(f"a million lookups / bare searchsorted, {name}", f"{lookup / bare:.2f}", times)


def lookups() -> Iterator[Measurement]:
    """In the table that ships."""
    yield loading(str(LOCATION))
    index = ThresholdIndex.open(str(LOCATION))
    yield against_searchsorted(index, Discrete(255, "0.2"))
    yield against_searchsorted(index, Discrete(1, "0.52"))
    noise = Discrete(255, "0.2")
    scalar = seconds(lambda: index.radius(0.99, noise, 150_528), 20_000)
    column = index.thresholds(noise).column.rows.min_p
    bare = seconds(lambda: column.searchsorted(0.99, "right"), 20_000)
    yield Measurement(
        "one lookup / one bare searchsorted",
        f"{scalar / bare:.1f}",
        f"{scalar * 1e6:.1f} µs / {bare * 1e6:.1f} µs",
    )
