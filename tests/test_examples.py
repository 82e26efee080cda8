"""The examples that need no service run as a reader would run them."""

import os
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_the_example_of_a_graph_network_certifies_and_bounds_an_adversary() -> None:
    done = subprocess.run(
        [sys.executable, "examples/graph_network.py"],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    changed, alone = re.search(r"changes (\d+) nodes at most;\n.* leave (\d+) open", done.stdout).groups()  # type: ignore[union-attr]
    assert int(changed) < int(alone), "together says more than alone"
