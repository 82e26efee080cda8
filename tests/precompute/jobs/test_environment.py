"""What a job takes along."""

import re

from ellzero.cli.registry import COMMANDS
from ellzero.precompute.jobs.environment import list_requirements


def test_a_job_asks_the_cluster_for_what_its_command_needs_and_no_more() -> None:
    """A cluster that computes tables is not made to install torch."""
    names = {
        command: {re.split("[<>=]", line)[0] for line in list_requirements(COMMANDS[command].extra)}
        for command in ("precompute", "certify")
    }
    assert {"pyarrow", "gmpy2"} < names["precompute"]
    assert not {"torch", "ray", "fastapi"} & names["precompute"]
    assert {"torch", "safetensors", "pyarrow", "gmpy2"} < names["certify"]
    assert "ray" not in names["certify"]
