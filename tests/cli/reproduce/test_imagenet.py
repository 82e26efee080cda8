"""``ellzero reproduce imagenet``: without data or weights in minutes, and what it needs in one line."""

import json
from pathlib import Path

import pytest
from command_line import Ellzero
from experiments.imagenet_files import write_images, write_weights

from ellzero.experiments.imagenet_weights import read_levels

LEVELS = read_levels("alpha", ["0.1", "0.5"])


def test_a_quick_run_needs_neither_data_nor_weights_and_resumes(ellzero: Ellzero, tmp_path: Path) -> None:
    out = tmp_path / "imagenet"
    line = f"reproduce imagenet --quick --out {out} --device cpu --executor local"
    code, printed, err = ellzero(line)
    assert code == 0, err
    assert "ACC@r with the best model for each r" in printed
    assert "discrete noise and certificate" in printed
    assert "gaussian noise and certificate" in printed
    result = json.loads((out / "results.json").read_text())
    assert [table["name"] for table in result["tables"]] == ["best", "by-alpha", "by-sigma", "models"]
    right = [row[1]["estimate"][0] for row in result["tables"][1]["rows"]]
    assert max(right) > 0.3  # of ten classes: the networks have learned
    code, again, err = ellzero(line)
    assert code == 0, err
    assert again == printed
    assert "training a small network" not in err
    assert "certified" not in err


def test_images_and_weights_of_the_users_own(ellzero: Ellzero, tmp_path: Path) -> None:
    data, weights = write_images(tmp_path / "data"), write_weights(tmp_path / "weights", *LEVELS)
    line = f"reproduce imagenet --data {data} --weights {weights} --alphas '0.1, 0.5' --n 300 --device cpu"
    code, printed, err = ellzero(f"{line} --out {tmp_path / 'out'} --executor local --every 7")
    assert code == 0, err
    assert "alpha-0.5: 3 inputs certified" in err
    assert "The row of Gaussian noise is left out" in printed
    assert (tmp_path / "out" / "noisy-images.png").is_file()
    before = sorted((tmp_path / "out").rglob("*"))
    code, _, err = ellzero(f"reproduce imagenet --quick --device cpu --out {tmp_path / 'out'}")
    assert code == 1
    assert err.endswith("out holds another experiment; give another --out\n")
    assert sorted((tmp_path / "out").rglob("*")) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "",
            "give --data and --weights: the validation images of ImageNet in val/<class>/, and a ResNet-50 for each α",
        ),
        ("--quick --n 300", "--quick has settings of its own: leave out --n"),
        ("--quick --data {data}", "--quick has settings of its own: leave out --data"),
        ("--data {data} --weights {data}/val/n01/0.png", "0.png is not a folder of weights"),
        ("--data {data}", "give --weights: the validation images"),
        ("--weights {weights}", "give --data: the validation images"),
        ("--data {data}/none --weights {weights}", "none is not a folder; `ellzero reproduce imagenet` needs the"),
        ("--data {data} --weights {weights}", "has no weights for alpha-0.2, alpha-0.3, alpha-0.4; their names end in"),
        ("--data {data} --weights {weights} --alphas 0.1,x", "alpha must be decimals above 0, such as 0.1; got 'x'"),
        (
            "--data {data} --weights {weights} --alphas 0.1 --sigmas 0.5",
            "has no weights for sigma-0.5; their names end in",
        ),
        ("--data {data} --weights {weights} --every 0", "Invalid value for '--every': 0 is not in the range x>=1."),
        ("--data {data} --weights {weights} --device gpu", "--device must be auto, cpu, cuda or cuda:0"),
    ],
)
def test_what_is_missing_or_wrong_is_one_line(ellzero: Ellzero, tmp_path: Path, options: str, message: str) -> None:
    data, weights = write_images(tmp_path / "data", count=1), write_weights(tmp_path / "weights", *LEVELS)
    out = tmp_path / "out"
    code, printed, err = ellzero(f"reproduce imagenet {options.format(data=data, weights=weights)} --out {out}")
    assert code in (1, 2)
    assert printed == ""
    *hints, line = err.splitlines()
    assert message in line
    assert all(hint.startswith("ellzero: trains ") for hint in hints)
    assert not out.exists()
