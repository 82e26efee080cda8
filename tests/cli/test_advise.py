"""``ellzero advise``: what it prints, recommends and explains, and mistakes in one line."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_line import Ellzero

from ellzero.smoothing import DiscreteNoise, GroupedNoise, HierarchicalNoise

QUICK = "advise --model demo-digits --votes 100 --inputs 20 --n 1000 --device cpu"


def _split(amounts: str) -> list[str]:
    return amounts.split()


def test_a_new_user_is_told_what_to_use(ellzero: Ellzero, tmp_path: Path) -> None:
    code, out, err = ellzero(f"{QUICK} --plot {tmp_path}/advice.png")
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == ("demo-digits (mlp) on digits, 1 from level 8 on, held out: 20 of 143 inputs, 100 votes each")
    assert lines[2] == "Expected, not certified; bands of 95 % over inputs and votes."
    assert lines[4].split()[:5] == ["α", "expected", "μ(R)", "ACC@0", "ACC@1"]
    assert [line.split()[0] for line in lines[5:14]] == [
        "0.6",
        "0.65",
        "0.7",
        "0.75",
        "0.8",
        "0.85",
        "0.9",
        "0.95",
        "0.98",
    ]
    assert lines[-1].startswith("recommended: α = 0.9")
    assert ", expected to have the largest μ(R), " in lines[-1]
    assert lines[-2].startswith("next: ellzero certify --model demo-digits --data digits --alpha 0.9")
    assert sum(line.endswith(" *") for line in lines) == 1
    assert (tmp_path / "advice.png").stat().st_size > 5_000
    assert f"expected radii drawn to {tmp_path}/advice.png" in err


def test_its_last_but_one_line_runs(ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [line] = [each for each in ellzero(f"{QUICK} --limit 4").out.splitlines() if each.startswith("next: ellzero ")]
    certified = ellzero(f"{line.removeprefix('next: ellzero ')} --executor local")
    assert certified.code == 0, certified.err
    assert "4 inputs certified" in certified.out


def test_json_has_every_figure_with_its_band(ellzero: Ellzero) -> None:
    answer = json.loads(ellzero(f"{QUICK} --json --levels 0.8,0.9 --target 1 --split test --seed 5").out)
    assert (answer["inputs"], answer["votes"], answer["n"], answer["target"]) == (20, 100, 1_000, 1)
    assert answer["expected"].startswith("not certified")
    assert answer["data"] == "digits, 1 from level 8 on"
    assert [each["amount"] for each in answer["amounts"]] == ["0.8", "0.9"]
    for each in answer["amounts"]:
        assert [accuracy["r"] for accuracy in each["accuracy"]] == list(range(each["reach"] + 1))
        for figure in (each["mean_radius"], *each["accuracy"]):
            assert 0 <= figure["low"] <= figure["value"] <= figure["high"]
    assert answer["recommended"] == "0.9"
    assert answer["summary"].startswith("recommended: α = 0.9, expected to have the largest ACC@1, ")
    assert (
        json.loads(ellzero(f"{QUICK} --json --levels 0.8,0.9 --target 1 --split test --seed 5").out)["amounts"][0][
            "accuracy"
        ]
        == answer["amounts"][0]["accuracy"]
    )


@pytest.mark.parametrize(
    ("options", "note", "last"),
    [
        (
            "--n 5",
            "n = 5 votes cannot certify a radius of 1 at any of these, even if all agree; n = ",
            "recommended: none of these, at which no radius of 1 or more is expected",
        ),
        ("--n 30 --levels 0.98", "n = 3,000 are expected to give ACC@1, ", "recommended: none of these"),
        ("--levels 0.6", "votes agree too little: at α = 0.6 half of the inputs have at most ", "recommended: none"),
        (
            "--levels 0.7",
            "one that is trained with K = 1, α = 7/10 per coordinate may do better: ellzero train ",
            "",
        ),
        ("--levels 0.6,0.8,0.9", "α = 0.9 is at the end of these amounts", "recommended: α = 0.9, "),
        ("--n 200 --levels 0.9", ", the most that n = 200 votes can reach; n = 2,000 are expected", "recommended: α"),
        ("--levels 0.9 --target 60", "cannot certify a radius of 60", "at which no radius of 60 or more is expected"),
    ],
)
def test_what_keeps_radii_small_is_explained(ellzero: Ellzero, options: str, note: str, last: str) -> None:
    code, out, err = ellzero(f"{QUICK} {options}")
    assert code == 0, err
    assert any(note in line for line in out.splitlines()), out
    assert last in out.splitlines()[-1]


@pytest.fixture
def tokens(ellzero: Ellzero, tmp_path: Path) -> Path:
    """Tokens whose class is told by most of them, and a model trained on them with masks."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400)
    x = np.where(y[:, None] == 1, random.integers(0, 5, (400, 12)), random.integers(3, 9, (400, 12)))
    np.savez(tmp_path / "tokens.npz", x=x, y=y, levels=9)
    line = f"train --data {tmp_path}/tokens.npz --noise mask --m 0.7 --architecture token-mean --epochs 4 --device cpu"
    trained = ellzero(f"{line} --out {tmp_path}/tokens.safetensors")
    assert trained.code == 0, trained.err
    return tmp_path


def test_other_families_have_amounts_of_their_own(ellzero: Ellzero, tokens: Path) -> None:
    (tokens / "struck.json").write_text(json.dumps(HierarchicalNoise(DiscreteNoise(8, "0.5"), "0.9").description()))
    line = f"advise --model {tokens}/tokens.safetensors --data {tokens}/tokens.npz --n 2000 --votes 100 --device cpu"
    masks = ellzero(line)
    assert masks.code == 0, masks.err
    assert "held out: 40 of 40 inputs" in masks.out
    assert [each.split()[0] for each in masks.out.splitlines()[4:11]] == [
        "m",
        "0.98",
        "0.95",
        "0.9",
        "0.8",
        "0.7",
        "0.6",
    ]
    assert "recommended: m = 0." in masks.out
    shown = ellzero(f"{line} --noise ablation --levels 1,3,6")
    assert [each.split()[0] for each in shown.out.splitlines()[4:8]] == ["keep", "1", "3", "6"]
    token = ellzero(f"{line} --mask-token 0 --levels 0.9,0.95").out
    assert re.search(r"train .* --noise mask --m 0\.\d+ --mask-token 0 ", token)
    assert re.search(r"certify .* --noise mask --m 0\.\d+ --mask-token 0 ", token)
    assert "x must be symbols, then padding (level 8), if any" in ellzero(f"{line} --noise deletion").err
    wrong = ellzero(f"{line} --noise {tokens}/struck.json")
    assert wrong.code == 1
    assert wrong.err.startswith("ellzero: the model raised IndexError")  # its embedding has no such symbols


def test_sparse_bits_have_p_add_fixed(ellzero: Ellzero, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    x = (random.random((300, 40)) < np.where((np.arange(40) < 20) == (y[:, None] == 1), 0.5, 0.05)).astype(np.uint8)
    np.savez(tmp_path / "bits.npz", x=x, y=y, levels=2)
    data = f"--data {tmp_path}/bits.npz --device cpu"
    out = f"{tmp_path}/bits.safetensors"
    noise = "--noise sparse --p-add 0.01"
    assert ellzero(f"train {data} {noise} --p-del 0.6 --architecture mlp --epochs 3 --out {out}").code == 0
    line = f"advise --model {out} {data} --n 2000 --votes 100"
    code, printed, err = ellzero(line)
    assert code == 0, err
    assert [each.split()[0] for each in printed.splitlines()[4:12]] == [
        "p_del",
        "0.9",
        "0.8",
        "0.7",
        "0.6",
        "0.5",
        "0.4",
        "0.3",
    ]
    assert "--noise sparse --p-add 0.01 --p-del 0." in printed
    assert "p_add = 0.05" in ellzero(f"{line} {noise.replace('0.01', '0.05')} --levels 0.4").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--levels 0.5,x", "--levels must be numbers such as 0.1; got 'x'"),
        ("--levels ,", "--levels must be numbers such as 0.1; got ''"),
        ("--levels 2", "--alpha must be a rational number"),
        ("--alpha 0.8", "--alpha is what is compared: give --levels 0.8,…"),
        ("--m 0.8", "--m is for mask noise, and this is discrete"),
        ("--noise mask", "feed must be levels for this noise"),
        ("--noise sparse", "give --p-add and --p-del, the amounts of sparse noise"),
        ("--votes 0", "Invalid value for '--votes': 0 is not in the range"),
        ("--inputs 0", "Invalid value for '--inputs': 0 is not in the range x>=1."),
        ("--target -1", "Invalid value for '--target': -1 is not in the range x>=0."),
        ("--failure 1", "--failure must be a number strictly between 0 and 1"),
        ("--split validation", "Invalid value for '--split': 'validation' is not one of"),
        ("--plot advice.doc", "--plot must be a file name that ends in .png, .svg, .pdf"),
        ("--plot nowhere/advice.png", "--plot must be in a folder that exists"),
        ("--data none.npz", "none.npz"),
        ("--model other", "no model in models is called other"),
        ("--k 255", "has levels 0..1, and --k 255 is for 0..255"),
        ("--device gpu", "--device must be auto, cpu, cuda or cuda:0"),
        (
            "--noise table.json",
            "which have one amount; in Python, advise compares any noises; got 'grouped'",
        ),
    ],
)
def test_a_mistake_is_one_line(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    table = GroupedNoise([(DiscreteNoise(1, "0.8"), 32), (DiscreteNoise(1, "0.9"), 32)])
    Path("table.json").write_text(json.dumps(table.description()))
    code, out, err = ellzero(f"{QUICK} {options}")
    assert code in (1, 2)
    assert (out, err.count("\n")) == ("", 1), err
    assert message in err


def test_held_out_inputs_are_those_of_the_training(ellzero: Ellzero, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    np.savez(tmp_path / "few.npz", x=random.integers(0, 2, (30, 1, 8, 8)), y=np.arange(30) % 10, levels=2)
    line = f"{QUICK} --data {tmp_path}/few.npz --levels 0.9"
    assert "20 of 30 inputs" in ellzero(line).out  # other data than the training's: all of it
    refused = ellzero(f"{line} --split held-out")
    assert "--split must be train or test for data that are not those of the model's training" in refused.err
