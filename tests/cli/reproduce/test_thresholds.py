"""``ellzero reproduce thresholds``."""

from pathlib import Path

import pytest
from command_line import Ellzero, check_mistake

from ellzero.core.execution.ray_executor import RayExecutor
from ellzero.experiments import ExperimentFolder


def test_a_quick_run_through_ray_prints_its_tables(ellzero: Ellzero, tmp_path: Path, ray_executor: RayExecutor) -> None:
    run = ellzero(f"reproduce thresholds --quick --executor ray --out {tmp_path}/t")
    assert run.code == 0, run.err
    assert "Published thresholds, by the published algorithm and by the engine" in run.out
    assert "rows agree to the last of 20 digits" in run.out
    assert "72 of 72 cells to compute" in run.err
    result = ExperimentFolder(tmp_path / "t").result()
    assert result is not None
    assert result.command == "ellzero reproduce thresholds --quick --executor ray --out t"
    again = ellzero(f"reproduce thresholds --quick --out {tmp_path}/t")
    assert (again.code, "to compute" in again.err) == (0, False)
    refused = ellzero(f"reproduce thresholds --full-radii 1 --out {tmp_path}/t")
    assert refused.code == 1
    assert "config.quick is true there and false here" in refused.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--full-alphas 0.3,1.2", "--full-alphas must be of 0.1, 0.2, 0.3, 0.4, 0.5; got '1.2'"),
        ("--full-alphas x", "--full-alphas must be of 0.1, 0.2, 0.3, 0.4, 0.5; got 'x'"),
        ("--full-radii 9", "--full-radii must be from 0 to 7; got 9"),
        ("--lists nowhere", "--lists must be a folder that exists; got 'nowhere'"),
        ("--executor local --workers 2", "--executor must be ray or auto if address or workers is given"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    check_mistake(ellzero(f"reproduce thresholds {line}"), message)
    assert list(tmp_path.iterdir()) == []
