"""`make chaos`: faults injected for real into real runs; every table must end as the undisturbed one, to the byte.

Each drill runs `ellzero precompute` as users do, in processes of its own, and ends with the compacted table: its shards
are named by their bytes, so the same digests as those of an undisturbed run mean the same table.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

from ellzero.tables import Table, compact, verify
from ellzero.tables.format.keys import ColumnKey
from ellzero.tables.store import digest_of


@dataclass(frozen=True)
class DrillGrid:
    """What the runs of a drill compute, and a part of it for a second job on the same table."""

    whole: str
    part: str


GRIDS = {
    "discrete": DrillGrid(
        "--k 1:24 --alpha 0.01:0.99:0.01 --r-max 1500",
        "--k 1:24 --alpha 0.01:0.99:0.01 --r-max 700",
    ),
    "sparse": DrillGrid(
        "--family sparse --p-add 0.005:0.05:0.005 --p-del 0.4:0.9:0.1 --add-max 30 --delete-max 80",
        "--family sparse --p-add 0.005:0.05:0.005 --p-del 0.4:0.9:0.1 --add-max 30 --delete-max 40",
    ),
}
# A drill that has not ended by then is a failure, not a reason to wait.
_MOST_SECONDS = 900
_ENVIRONMENT = {
    **os.environ,
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONUNBUFFERED": "1",
}

Rows = dict[tuple[ColumnKey, int], int]


@dataclass
class DrillOutcome:
    """What a drill did, and how its table compares with the undisturbed one."""

    faults: str
    lost: int
    duplicated: int
    stored_twice: int
    same: bool

    def __str__(self) -> str:
        verdict = "the same table" if self.same else "ANOTHER TABLE"
        twice = f" ({self.stored_twice:,} stored twice before compaction)" if self.stored_twice else ""
        return f"{self.faults}: rows lost {self.lost}, duplicated {self.duplicated}{twice}, {verdict}"


class Reference:
    """The table of an undisturbed run, with which every other one is compared."""

    def __init__(self, folder: Path, grid: DrillGrid) -> None:
        self.grid = grid
        run(folder / "undisturbed", "--executor local", grid.whole)
        self.table = Table.open(str(folder / "undisturbed"))
        compact(self.table)
        self.digests = digests(self.table)
        self.rows = rows_of(self.table)

    def judge(self, faults: str, uri: Path) -> DrillOutcome:
        table = Table.open(str(uri))
        before = Counter(
            (piece.key, r) for _, slices in table.shards() for piece in slices for r in range(piece.first, piece.stop)
        )
        rows = rows_of(table)
        lost = sum(1 for key, unit in self.rows.items() if rows.get(key) != unit)
        compact(table)
        after = Counter(
            (piece.key, r) for _, slices in table.shards() for piece in slices for r in range(piece.first, piece.stop)
        )
        return DrillOutcome(
            faults,
            lost,
            duplicated=sum(count - 1 for count in after.values()),
            stored_twice=sum(count - 1 for count in before.values()),
            same=digests(table) == self.digests,
        )


def digests(table: Table) -> list[str]:
    """The digests in the names of the shards of a compacted table, without their generation."""
    return sorted(map(digest_of, table.store.names()))


def rows_of(table: Table) -> Rows:
    """What a reader sees."""
    return {
        (key, r): piece.rows.scaled_ceiling(r - piece.first)
        for key, slices in table.columns().items()
        for piece in slices
        for r in range(piece.first, piece.stop)
    }


def command(out: Path, options: str, grid: str) -> list[str]:
    return [sys.executable, "-m", "ellzero", "precompute", *grid.split(), "--out", str(out), *options.split()]


def run(out: Path, options: str, grid: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; it must succeed."""
    process = subprocess.run(
        command(out, options, grid),
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    if process.returncode:
        raise SystemExit(f"a run failed: {process.stderr}")
    return process


@contextmanager
def start_run(out: Path, options: str, grid: str) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a session of its own, so that whatever it leaves behind can be ended with it and with nothing else."""
    process = subprocess.Popen(
        command(out, options, grid),
        env=_ENVIRONMENT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def descendants(ancestor: int) -> list[tuple[int, str]]:
    """Processes below one, with their titles, from /proc."""
    parents: dict[int, int] = {}
    titles: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                titles[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ").strip()
            except (FileNotFoundError, ProcessLookupError):
                continue
    processes, front = [], [ancestor]
    while front:
        front = [pid for pid, parent in parents.items() if parent in front]
        processes += [(pid, titles[pid]) for pid in front]
    return processes


def kill_workers(folder: Path, reference: Reference, kills: int, source: random.Random) -> DrillOutcome:
    """SIGKILL for workers in the middle of tasks, again and again while runs go on."""
    kills_done = runs = 0
    outcomes = []
    begin = time.monotonic()
    while kills_done < kills and time.monotonic() - begin < 3 * _MOST_SECONDS:
        runs += 1
        out = folder / f"workers{runs}"
        with start_run(out, "--executor ray --workers 2", reference.grid.whole) as process:
            while process.poll() is None and time.monotonic() - begin < 3 * _MOST_SECONDS:
                time.sleep(source.uniform(0.1, 0.5))
                working = [pid for pid, title in descendants(process.pid) if title.startswith("ray::_apply")]
                if working and kills_done < kills:
                    os.kill(source.choice(working), signal.SIGKILL)
                    kills_done += 1
            if process.wait(_MOST_SECONDS):
                raise SystemExit("a run gave up")
        outcomes.append(reference.judge("", out))
    return total(f"{kills_done} worker SIGKILLs in {runs} runs", outcomes)


def kill_nodes(folder: Path, reference: Reference, kills: int, source: random.Random) -> DrillOutcome:
    """SIGKILL for whole nodes (raylet and workers) of a cluster of several, each replaced by a new one."""
    from ray.cluster_utils import Cluster

    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "_system_config": health, "object_store_memory": 100_000_000},
    )
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(2)]
    kills_done = runs = 0
    outcomes = []
    begin = time.monotonic()
    try:
        while kills_done < kills and time.monotonic() - begin < 3 * _MOST_SECONDS:
            runs += 1
            out = folder / f"nodes{runs}"
            with start_run(out, f"--address {cluster.address}", reference.grid.whole) as process:
                while process.poll() is None and time.monotonic() - begin < 3 * _MOST_SECONDS:
                    time.sleep(source.uniform(1.0, 2.0))
                    if kills_done < kills and len(list(out.glob("*.parquet"))) > 1:
                        cluster.remove_node(nodes.pop(source.randrange(len(nodes))), allow_graceful=False)
                        kills_done += 1
                        nodes.append(cluster.add_node(num_cpus=1, object_store_memory=100_000_000))
                if process.wait(_MOST_SECONDS):
                    raise SystemExit("a run gave up")
            outcomes.append(reference.judge("", out))
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]
    return total(f"{kills_done} node SIGKILLs in {runs} runs", outcomes)


def kill_drivers(folder: Path, reference: Reference, kills: int, source: random.Random) -> DrillOutcome:
    """SIGKILL for the whole command at any moment, then the same command again until it ends by itself."""
    out = folder / "drivers"
    kills_done = 0
    while kills_done < kills:
        # Most in process, which begins at once; every fourth on Ray.
        options = "--executor ray --workers 2" if kills_done % 4 == 3 else "--executor local"
        with start_run(out, options, reference.grid.whole) as process:
            before = len(list(out.glob("*.parquet")))
            patience = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < patience:
                time.sleep(source.uniform(0.0, 0.3))
                # Killed at once sometimes, otherwise soon after it wrote something.
                if source.random() < 0.1 or len(list(out.glob("*.parquet"))) > before:
                    break
            if process.poll() is None:
                process.kill()
                kills_done += 1
            else:  # it was faster: begin a table anew
                shutil.rmtree(out)
    run(out, "--executor local", reference.grid.whole)
    return reference.judge(f"{kills_done} driver SIGKILLs, each followed by a rerun", out)


def two_jobs(folder: Path, reference: Reference, source: random.Random) -> DrillOutcome:
    """Two commands with overlapping grids write one table at the same time, while a third one compacts it."""
    out = folder / "two"
    compactions = 0
    grid = reference.grid
    with (
        start_run(out, "--executor ray --workers 2", grid.whole) as first,
        start_run(out, "--executor local", grid.part) as other,
    ):
        patience = time.monotonic() + _MOST_SECONDS
        while (first.poll() is None or other.poll() is None) and time.monotonic() < patience:
            time.sleep(source.uniform(0.5, 1.0))
            if list(out.glob("*.parquet")):
                compact(Table.open(str(out)))
                compactions += 1
        if first.wait(_MOST_SECONDS) or other.wait(_MOST_SECONDS):
            raise SystemExit("a run gave up")
    return reference.judge(f"two jobs writing one table at once, compacted {compactions} times meanwhile", out)


def full_disk(folder: Path, reference: Reference, source: random.Random) -> DrillOutcome:
    """A disk of one megabyte runs full; then it grows, and the same command goes on."""
    mount = folder / "disk"
    mount.mkdir()
    out = mount / "table"
    mount_process = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount], capture_output=True, check=False
    )
    if mount_process.returncode:
        raise SystemExit("the full-disk drill needs the right to mount a tmpfs of one megabyte")
    try:
        for options in ("--executor local", "--executor ray --workers 2"):
            full = subprocess.run(
                command(out, options, reference.grid.whole),
                env=_ENVIRONMENT,
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
                check=False,
            )
            if full.returncode != 1 or "No space left on device" not in full.stderr or "Traceback" in full.stderr:
                raise SystemExit(f"a full disk is not said clearly: {full.stderr}")
            verdict = verify(Table.open(str(out)), share=0.0)
            leftovers = [path.name for path in out.iterdir() if path.suffix != ".parquet"]
            if not verdict.sound or leftovers:
                raise SystemExit(f"a full disk left something behind: {verdict}, {leftovers}")
        subprocess.run(["mount", "-o", "remount,size=200m", mount], check=True)
        run(out, "--executor local", reference.grid.whole)
        return reference.judge("a disk that ran full twice", out)
    finally:
        subprocess.run(["umount", mount], check=True)


def broken_shards(folder: Path, reference: Reference, source: random.Random) -> DrillOutcome:
    """A truncated shard, an empty one and one with a flipped bit; the same command mends the table."""
    out = folder / "broken"
    run(out, "--executor local", reference.grid.whole)
    victims = source.sample(sorted(out.glob("*.parquet")), 3)
    data = [victim.read_bytes() for victim in victims]
    victims[0].write_bytes(data[0][: source.randrange(1, len(data[0]))])
    victims[1].write_bytes(b"")
    at = source.randrange(len(data[2]))
    victims[2].write_bytes(data[2][:at] + bytes([data[2][at] ^ 1]) + data[2][at + 1 :])
    if verify(Table.open(str(out)), share=0.0).sound:
        raise SystemExit("verification did not see the broken shards")
    run(out, "--executor local", reference.grid.whole)
    return reference.judge("a truncated shard, an empty one and a flipped bit", out)


def total(faults: str, outcomes: list[DrillOutcome]) -> DrillOutcome:
    return DrillOutcome(
        faults,
        sum(outcome.lost for outcome in outcomes),
        sum(outcome.duplicated for outcome in outcomes),
        sum(outcome.stored_twice for outcome in outcomes),
        all(outcome.same for outcome in outcomes),
    )


@click.command()
@click.option("--workers", default=100, help="SIGKILLs of workers.")
@click.option("--nodes", default=10, help="SIGKILLs of nodes.")
@click.option("--drivers", default=20, help="SIGKILLs of drivers.")
@click.option("--grid", type=click.Choice([*GRIDS]), default="discrete", show_default=True, help="What to compute.")
@click.option("--seed", default=0)
def main(workers: int, nodes: int, drivers: int, grid: str, seed: int) -> None:
    os.environ.update(_ENVIRONMENT)
    source = random.Random(seed)
    drills: list[Callable[[Path, Reference, random.Random], DrillOutcome]] = [
        lambda folder, reference, source: kill_drivers(folder, reference, drivers, source),
        lambda folder, reference, source: kill_workers(folder, reference, workers, source),
        lambda folder, reference, source: kill_nodes(folder, reference, nodes, source),
        two_jobs,
        full_disk,
        broken_shards,
    ]
    failed = False
    with tempfile.TemporaryDirectory(prefix="ellzero-chaos-") as name:
        folder = Path(name)
        reference = Reference(folder, GRIDS[grid])
        click.echo(f"undisturbed: {len(reference.rows):,} rows, {len(reference.digests)} shards after compaction")
        for drill in drills:
            start = time.monotonic()
            outcome = drill(folder, reference, source)
            failed |= bool(outcome.lost or outcome.duplicated or not outcome.same)
            click.echo(f"{outcome} ({time.monotonic() - start:.0f} s)")
    sys.exit(failed)


if __name__ == "__main__":
    main()
