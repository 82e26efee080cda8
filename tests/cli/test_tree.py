"""``ellzero tree``: from a file of bits or molecules to certificates, and one clear line for what cannot be done."""

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from command_line import Ellzero

from ellzero.core.install_hint import install_hint
from ellzero.trees import adversarial_auc, load_binary_data, load_trees

MOLECULES = ["C" * n + ring for ring in ("O", "N", "c1ccccc1", "C1CCCC1") for n in range(1, 9)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bits whose class is that of most of the first three, with some noise, and molecules."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    x = random.integers(0, 2, (300, 12)).astype(np.uint8)
    y = (x[:, :3].sum(axis=1) + (random.random(300) < 0.1) > 1).astype(int)
    np.savez("bits.npz", x=x, y=y)
    rows = "\n".join(f"{smiles},{int('1' in smiles)}" for smiles in MOLECULES)
    Path("molecules.csv").write_text(f"mol,active\n{rows}\n")
    return tmp_path


def fit(ellzero: Ellzero, options: str = "") -> None:
    done = ellzero(f"tree fit --data bits.npz --split random --max-depth 3 --out model.json {options}")
    assert done.code == 0, done.err


@pytest.mark.parametrize("options", ["", "--trees 3 --alpha 9/10 --leaf majority"])
def test_a_model_is_trained_certified_and_reported(ellzero: Ellzero, options: str) -> None:
    fit(ellzero, options)
    saved = load_trees("model.json")
    assert len(saved.estimator.roots_) == (3 if options else 1)
    done = ellzero("tree certify --data bits.npz --split random --model model.json --r-max 2 --out results")
    assert done.out == "results: 30 inputs certified, exactly\nnext: ellzero report results\n"
    run = json.loads(Path("results/run.json").read_text())
    assert run["model"]["sha256"] == saved.digest
    again = ellzero("tree certify --data bits.npz --split random --model model.json --r-max 2 --out results")
    assert again.out == "results: all 30 inputs are certified already\n"
    text = ellzero("report results").out
    assert f"model ({saved.kind}) on bits.npz, test of the random split" in text
    assert "; exact\ninputs 30, " in text
    report = json.loads(ellzero("report results --json").out)
    assert report["inputs"] == 30
    assert "votes_drawn" not in report


def test_a_run_goes_on_where_it_stopped_and_keeps_other_runs_apart(ellzero: Ellzero) -> None:
    fit(ellzero)
    certify = "tree certify --data bits.npz --model model.json --out results"
    assert "20 inputs certified" in ellzero(f"{certify} --limit 20").out
    assert "280 inputs certified" in ellzero(certify).out
    other = ellzero(f"{certify} --r-max 1")
    assert other.code == 1
    assert "holds another run: r_max is 3 there and 1 here; give another --out, or --overwrite" in other.err
    assert "300 inputs certified" in ellzero(f"{certify} --r-max 1 --overwrite").out


def test_the_auc_is_that_of_the_library(ellzero: Ellzero) -> None:
    fit(ellzero)
    options = "--data bits.npz --split random --model model.json --r 1:2 --budget 10% --budget 9"
    lines = [json.loads(line) for line in ellzero(f"tree auc {options} --json").out.splitlines()]
    assert [(line["r"], line["budget"]) for line in lines] == [(1, 3), (1, 9), (2, 3), (2, 9)]
    data, estimator = load_binary_data("bits.npz", split="random", part="test"), load_trees("model.json").estimator
    low, high = estimator.probability_bounds(data.features, 2, exact=True)
    for line in lines:
        expected = adversarial_auc(data.labels, low[:, 0], low[:, line["r"]], high[:, line["r"]], line["budget"])
        assert Fraction(line["guaranteed"]) == expected.guaranteed
    table = ellzero(f"tree auc {options}").out.splitlines()
    assert table[0].split() == ["r", "points", "guaranteed", "attained", "gap"]
    for row, line in zip(table[1:], lines, strict=True):
        assert Fraction(row.split()[2]) <= Fraction(line["guaranteed"]), "a guarantee is rounded down"
        assert 0 <= Fraction(row.split()[4]) - Fraction(line["gap"]) < Fraction(1, 10**4), "and what is missing up"


def test_the_positive_class_of_the_auc_is_that_of_the_model(ellzero: Ellzero) -> None:
    fit(ellzero)
    model = json.loads(Path("model.json").read_text())
    Path("reversed.json").write_text(json.dumps({**model, "classes": model["classes"][::-1]}))
    options = "--data bits.npz --budget 0 --json"
    clean, reverse = (
        Fraction(json.loads(ellzero(f"tree auc --model {name}.json {options}").out)["clean"])
        for name in ("model", "reversed")
    )
    assert clean > Fraction(1, 2)
    assert reverse == 1 - clean, "the same p is now the probability of the other class"


def test_budgets_and_labels_are_refused_before_any_search(ellzero: Ellzero) -> None:
    fit(ellzero)
    done = ellzero("tree auc --model model.json --data bits.npz --budget 10% --budget 301")
    assert (done.code, done.out) == (2, "")
    np.savez("one.npz", x=np.ones((3, 12), int), y=np.ones(3, int))
    assert ellzero("tree auc --model model.json --data one.npz").out == ""


def test_a_place_that_cannot_be_written_is_refused_first(ellzero: Ellzero) -> None:
    Path("file").write_text("")
    done = ellzero("tree fit --data bits.npz --out file/m.json")
    assert done.code == 1
    assert done.err.startswith("ellzero: file")
    assert len(done.err.splitlines()) == 1


def test_the_folder_of_a_model_is_made(ellzero: Ellzero) -> None:
    fit(ellzero, "--out new/folder/model.json")
    assert Path("new/folder/model.json").exists()


def test_a_tree_is_drawn_with_the_chance_of_reaching_each_node(ellzero: Ellzero) -> None:
    fit(ellzero)
    plain = ellzero("tree show --model model.json").out
    assert "tree of 15 nodes, α = 4/5, 12 features" in plain
    assert "reached" not in plain
    text = ellzero("tree show --model model.json --data bits.npz --row 5 --plot tree.svg").out
    chances = [
        float(chance) for chance in re.findall(r"^ {12}\d: output .* reached with ([\d.]+) %", text, re.MULTILINE)
    ]
    assert len(chances) == 8
    assert sum(chances) == pytest.approx(100, abs=0.05)
    assert "p = 0." in text
    assert Path("tree.svg").stat().st_size > 1000


def test_molecules_are_read_by_their_column(ellzero: Ellzero) -> None:
    options = "--data molecules.csv --smiles mol --label active --split scaffold"
    done = ellzero(f"tree fit {options} --max-depth 2 --out model.json")
    assert done.code == 0, done.err
    assert load_trees("model.json").estimator.n_features_in_ == 1024
    assert json.loads(Path("model.json").read_text())["notes"]["data"]["part"] == "train"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fit --data absent.npz --out m.json", "absent.npz does not exist"),
        ("fit --data bits.npz --label z --out m.json", "bits.npz has no array z; it has x, y"),
        ("fit --data bits.npz --alpha 1/3 --out m.json", "--alpha must be a rational number above 1/2"),
        ("fit --data bits.npz --max-depth 0 --out m.json", "0 is not in the range x>=1"),
        ("fit --data bits.npz --split scaffold --out m.json", "--split must be none or random where no column"),
        ("fit --data molecules.csv --label active --out m.json", "molecules.csv must have 0 and 1 in its column mol"),
        ("fit --data wrong.csv --smiles mol --out m.json", "row 1 is not a molecule that RDKit can read: 'C1CC'"),
        ("fit --data one.npz --out m.json", "the labels must be of two classes"),
        ("fit --data three.npz --out m.json", "Only binary classification is supported"),
        ("fit --data levels.npz --out m.json", "every feature must be 0 or 1; row 0 has"),
        ("certify --model absent.json --data bits.npz --out r", "absent.json cannot be read: No such file"),
        ("certify --model bits.npz --data bits.npz --out r", "bits.npz is no model of trees"),
        ("certify --model model.json --data narrow.npz --out r", "has 5 features, and the model takes 12"),
        ("certify --model model.json --data three.npz --out r", "has the label 2, and the model knows 0 and 1"),
        ("certify --model model.json --data bits.npz --r-max -1 --out r", "-1 is not in the range"),
        ("auc --model model.json --data bits.npz --budget 301", "--budget must be at most the 300 points"),
        ("auc --model model.json --data bits.npz --budget 150%", "--budget must be a share from 0 to 1"),
        ("auc --model model.json --data bits.npz --r -1", "--r must be radii of at least 0"),
        ("auc --model model.json --data zeros.npz", "an AUC needs points of two classes; got 1"),
        ("show --model model.json --data bits.npz --row 300", "--row must be an integer from 0 to 299"),
        ("show --model model.json --plot tree.gif", "--plot must be a file name that ends in .png, .svg, .pdf"),
        (
            "fit --data bits.npz --smiles mol --out m",
            "bits.npz holds arrays; SMILES are read from .csv and .parquet files",
        ),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(ellzero: Ellzero, line: str, message: str) -> None:
    fit(ellzero)
    with np.load("bits.npz") as bits:
        x, y = bits["x"], bits["y"]
    np.savez("one.npz", x=x, y=np.ones(300, int))
    np.savez("zeros.npz", x=x, y=np.zeros(300, int))
    np.savez("three.npz", x=x, y=np.arange(300) % 3)
    np.savez("narrow.npz", x=x[:, :5], y=y)
    np.savez("levels.npz", x=x + 7, y=y)
    Path("wrong.csv").write_text("mol,y\nCC,1\nC1CC,0\n")
    done = ellzero(f"tree {line}")
    assert done.code in (1, 2)
    assert message in done.err
    assert done.err.startswith("ellzero: ")
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(("module", "extra"), [("sklearn", "trees"), ("rdkit", "chem")])
def test_a_missing_extra_says_how_to_get_it(module: str, extra: str) -> None:
    code = f"import sys; sys.modules[{module!r}] = None; from ellzero.cli.main import main; main()"
    line = "tree fit --data molecules.csv --smiles mol --label active --out model.json"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"needs the Python module {module}" in done.stderr
    assert install_hint(extra) in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_certifying_does_not_load_torch(ellzero: Ellzero) -> None:
    fit(ellzero)
    code = "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); "
    code += "from ellzero.cli.main import main; main()"
    line = "tree certify --data bits.npz --model model.json --out results --executor local"
    done = subprocess.run([sys.executable, "-c", code, *line.split()], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_a_table_whose_columns_are_not_the_models_is_refused(ellzero: Ellzero) -> None:
    rows = [f"{a},{b},{int(a and not b)}" for a in (0, 1) for b in (0, 1) for _ in range(5)]
    for name, header in (("train", "red,green,y"), ("swapped", "green,red,y"), ("other", "red,blue,y")):
        Path(f"{name}.csv").write_text("\n".join([header, *rows]) + "\n")
    assert ellzero("tree fit --data train.csv --max-depth 2 --out table.json").code == 0
    assert load_trees("table.json").feature_names == ["red", "green"]
    assert ellzero("tree auc --data train.csv --model table.json").code == 0
    for name, message in (("swapped", "green where the model has red"), ("other", "blue where the model has green")):
        for command in ("auc", "certify --out results"):
            done = ellzero(f"tree {command} --data {name}.csv --model table.json")
            assert done.code == 1
            assert f"{name}.csv has the feature {message}" in done.err


def test_auc_says_first_how_long_it_may_search(ellzero: Ellzero) -> None:
    fit(ellzero)
    auc = "tree auc --data bits.npz --split random --model model.json"
    done = ellzero(f"{auc} --r 1:2 --budget 10% --budget 20% --time-limit 30")
    assert done.err == "ellzero: 4 AUCs, each after at most 30 seconds of search\n"
