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

from ellzero.certificates import Noise
from ellzero.tables import Table, compact, verify
from ellzero.tables.store import digest_of

GRID = "--k 1:24 --alpha 0.01:0.99:0.01 --r-max 1500"
# A drill that has not ended by then is a failure, not a reason to wait.
_MOST_SECONDS = 900
_ENVIRONMENT = {
    **os.environ,
    "RAY_AUTH_MODE": "disabled",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONUNBUFFERED": "1",
}

Rows = dict[tuple[Noise, int], int]


@dataclass
class Outcome:
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


class Undisturbed:
    """A run in this machine's peace: what every other one is compared with."""

    def __init__(self, folder: Path) -> None:
        run(folder / "undisturbed", "--executor local")
        self.table = Table.open(str(folder / "undisturbed"))
        compact(self.table)
        self.digests = digests(self.table)
        self.rows = rows_of(self.table)

    def judge(self, faults: str, uri: Path) -> Outcome:
        table = Table.open(str(uri))
        stored = Counter(
            (part.noise, r) for _, parts in table.shards() for part in parts for r in range(part.first, part.stop)
        )
        seen = rows_of(table)
        lost = sum(1 for key, unit in self.rows.items() if seen.get(key) != unit)
        compact(table)
        after = Counter(
            (part.noise, r) for _, parts in table.shards() for part in parts for r in range(part.first, part.stop)
        )
        return Outcome(
            faults,
            lost,
            duplicated=sum(count - 1 for count in after.values()),
            stored_twice=sum(count - 1 for count in stored.values()),
            same=digests(table) == self.digests,
        )


def digests(table: Table) -> list[str]:
    """What the shards of a compacted table are named by; which generation of compaction they are does not matter."""
    return sorted(map(digest_of, table.store.names()))


def rows_of(table: Table) -> Rows:
    """What a reader sees."""
    return {
        (noise, r): part.rows.scaled_ceiling(r - part.first)
        for noise, parts in table.columns().items()
        for part in parts
        for r in range(part.first, part.stop)
    }


def command(out: Path, options: str, grid: str = GRID) -> list[str]:
    return [sys.executable, "-m", "ellzero", "precompute", *grid.split(), "--out", str(out), *options.split()]


def run(out: Path, options: str, grid: str = GRID) -> subprocess.CompletedProcess[str]:
    """A run to its end, which must be a good one."""
    done = subprocess.run(
        command(out, options, grid),
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"a run that should have ended well did not: {done.stderr}")
    return done


@contextmanager
def started(out: Path, options: str, grid: str = GRID) -> Iterator[subprocess.Popen[bytes]]:
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
    found, front = [], [ancestor]
    while front:
        front = [pid for pid, parent in parents.items() if parent in front]
        found += [(pid, titles[pid]) for pid in front]
    return found


def kill_workers(folder: Path, truth: Undisturbed, kills: int, source: random.Random) -> Outcome:
    """SIGKILL for workers in the middle of tasks, again and again while runs go on."""
    done = runs = 0
    outcomes = []
    begin = time.monotonic()
    while done < kills and time.monotonic() - begin < 3 * _MOST_SECONDS:
        runs += 1
        out = folder / f"workers{runs}"
        with started(out, "--executor ray --workers 2") as process:
            while process.poll() is None and time.monotonic() - begin < 3 * _MOST_SECONDS:
                time.sleep(source.uniform(0.1, 0.5))
                working = [pid for pid, title in descendants(process.pid) if title.startswith("ray::_apply")]
                if working and done < kills:
                    os.kill(source.choice(working), signal.SIGKILL)
                    done += 1
            if process.wait(_MOST_SECONDS):
                raise SystemExit("a run gave up")
        outcomes.append(truth.judge("", out))
    return total(f"{done} worker SIGKILLs in {runs} runs", outcomes)


def kill_nodes(folder: Path, truth: Undisturbed, kills: int, source: random.Random) -> Outcome:
    """SIGKILL for whole nodes (raylet and workers) of a cluster of several, each replaced by a new one."""
    from ray.cluster_utils import Cluster

    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "_system_config": health, "object_store_memory": 100_000_000},
    )
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=100_000_000) for _ in range(2)]
    done = runs = 0
    outcomes = []
    begin = time.monotonic()
    try:
        while done < kills and time.monotonic() - begin < 3 * _MOST_SECONDS:
            runs += 1
            out = folder / f"nodes{runs}"
            with started(out, f"--address {cluster.address}") as process:
                while process.poll() is None and time.monotonic() - begin < 3 * _MOST_SECONDS:
                    time.sleep(source.uniform(1.0, 2.0))
                    if done < kills and len(list(out.glob("*.parquet"))) > 1:
                        cluster.remove_node(nodes.pop(source.randrange(len(nodes))), allow_graceful=False)
                        done += 1
                        nodes.append(cluster.add_node(num_cpus=1, object_store_memory=100_000_000))
                if process.wait(_MOST_SECONDS):
                    raise SystemExit("a run gave up")
            outcomes.append(truth.judge("", out))
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]
    return total(f"{done} node SIGKILLs in {runs} runs", outcomes)


def kill_drivers(folder: Path, truth: Undisturbed, kills: int, source: random.Random) -> Outcome:
    """SIGKILL for the whole command at any moment, then the same command again until it ends by itself."""
    out = folder / "drivers"
    done = 0
    while done < kills:
        # Most in process, which begins at once; every fourth on Ray.
        options = "--executor ray --workers 2" if done % 4 == 3 else "--executor local"
        with started(out, options) as process:
            before = len(list(out.glob("*.parquet")))
            patience = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < patience:
                time.sleep(source.uniform(0.0, 0.3))
                # Killed at once sometimes, otherwise soon after it wrote something.
                if source.random() < 0.1 or len(list(out.glob("*.parquet"))) > before:
                    break
            if process.poll() is None:
                process.kill()
                done += 1
            else:  # it was faster: begin a table anew
                shutil.rmtree(out)
    run(out, "--executor local")
    return truth.judge(f"{done} driver SIGKILLs, each followed by a rerun", out)


def two_jobs(folder: Path, truth: Undisturbed, source: random.Random) -> Outcome:
    """Two commands with overlapping grids write one table at the same time, while a third one compacts it."""
    out = folder / "two"
    compactions = 0
    shorter = GRID.replace("1500", "700")
    with started(out, "--executor ray --workers 2") as one, started(out, "--executor local", shorter) as other:
        patience = time.monotonic() + _MOST_SECONDS
        while (one.poll() is None or other.poll() is None) and time.monotonic() < patience:
            time.sleep(source.uniform(0.5, 1.0))
            if list(out.glob("*.parquet")):
                compact(Table.open(str(out)))
                compactions += 1
        if one.wait(_MOST_SECONDS) or other.wait(_MOST_SECONDS):
            raise SystemExit("a run gave up")
    return truth.judge(f"two jobs writing one table at once, compacted {compactions} times meanwhile", out)


def full_disk(folder: Path, truth: Undisturbed, source: random.Random) -> Outcome:
    """A disk of one megabyte runs full; then it grows, and the same command goes on."""
    mount = folder / "disk"
    mount.mkdir()
    out = mount / "table"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount], capture_output=True, check=False
    )
    if mounted.returncode:
        raise SystemExit("the full-disk drill needs the right to mount a tmpfs of one megabyte")
    try:
        for options in ("--executor local", "--executor ray --workers 2"):
            full = subprocess.run(
                command(out, options),
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
        run(out, "--executor local")
        return truth.judge("a disk that ran full twice", out)
    finally:
        subprocess.run(["umount", mount], check=True)


def broken_shards(folder: Path, truth: Undisturbed, source: random.Random) -> Outcome:
    """A truncated shard, an empty one and one with a flipped bit; the same command mends the table."""
    out = folder / "broken"
    run(out, "--executor local")
    victims = source.sample(sorted(out.glob("*.parquet")), 3)
    data = [victim.read_bytes() for victim in victims]
    victims[0].write_bytes(data[0][: source.randrange(1, len(data[0]))])
    victims[1].write_bytes(b"")
    at = source.randrange(len(data[2]))
    victims[2].write_bytes(data[2][:at] + bytes([data[2][at] ^ 1]) + data[2][at + 1 :])
    if verify(Table.open(str(out)), share=0.0).sound:
        raise SystemExit("verification did not see the broken shards")
    run(out, "--executor local")
    return truth.judge("a truncated shard, an empty one and a flipped bit", out)


def total(faults: str, outcomes: list[Outcome]) -> Outcome:
    return Outcome(
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
@click.option("--seed", default=0)
def main(workers: int, nodes: int, drivers: int, seed: int) -> None:
    os.environ.update(_ENVIRONMENT)
    source = random.Random(seed)
    drills: list[Callable[[Path, Undisturbed, random.Random], Outcome]] = [
        lambda folder, truth, source: kill_drivers(folder, truth, drivers, source),
        lambda folder, truth, source: kill_workers(folder, truth, workers, source),
        lambda folder, truth, source: kill_nodes(folder, truth, nodes, source),
        two_jobs,
        full_disk,
        broken_shards,
    ]
    failed = False
    with tempfile.TemporaryDirectory(prefix="ellzero-chaos-") as name:
        folder = Path(name)
        truth = Undisturbed(folder)
        click.echo(f"undisturbed: {len(truth.rows):,} rows, {len(truth.digests)} shards after compaction")
        for drill in drills:
            start = time.monotonic()
            outcome = drill(folder, truth, source)
            failed |= bool(outcome.lost or outcome.duplicated or not outcome.same)
            click.echo(f"{outcome} ({time.monotonic() - start:.0f} s)")
    sys.exit(failed)


if __name__ == "__main__":
    main()
