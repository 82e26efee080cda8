"""Several nodes: the command line connects to their cluster, and a node that dies takes nothing with it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Ellzero
from ray.cluster_utils import Cluster

from ellzero.tables import Table

GRID = "precompute --k 1:16 --alpha 0.01:0.99:0.01 --r-max 1000"
MEMORY = 100_000_000


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A head that does no work, and two nodes of one core each."""
    health = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 2}
    head = {"num_cpus": 0, "_system_config": health, "object_store_memory": MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, object_store_memory=MEMORY)
        yield cluster
    finally:
        cluster.shutdown()  # type: ignore[no-untyped-call]


def test_a_node_killed_in_the_middle_neither_loses_nor_doubles_rows(
    ellzero: Ellzero, cluster: Cluster, tmp_path: Path
) -> None:
    command = f"{GRID} --out {tmp_path}/t --address {cluster.address}"
    process = subprocess.Popen(
        [sys.executable, "-m", "ellzero", *command.split()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(1_200):
            time.sleep(0.05)
            if process.poll() is not None or list((tmp_path / "t").glob("*.parquet")):
                break
        assert process.poll() is None
        cluster.remove_node(sorted(cluster.worker_nodes, key=lambda node: node.unique_id)[0], allow_graceful=False)
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    assert "1,584 columns" in out
    ellzero(f"{GRID} --out {tmp_path}/undisturbed --executor local")
    for name in ("t", "undisturbed"):
        ellzero(f"tables compact {tmp_path}/{name}")
    shards, expected = (Table.open(f"{tmp_path}/{name}").store.names() for name in ("t", "undisturbed"))
    assert shards == expected
