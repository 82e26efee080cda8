"""``ellzero verify`` on certificates and on runs, and the documents that ``ellzero certify`` writes."""

import json
import os
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import Ellzero, check_mistake
from oracles.certificates import draw_certificate
from s3_server import S3Place
from smoothing.run_files import model_and_data

from ellzero.audit import verify_document, verify_file
from ellzero.core.signing_keys import create_key, fingerprint, public_path, read_private_key
from ellzero.core.storage import Folder
from ellzero.smoothing.runs.result_store import ResultStore


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and its data."""
    return model_and_data(tmp_path_factory.mktemp("files"))


def certify(ellzero: Ellzero, files: tuple[Path, Path], out: Path, options: str = "") -> str:
    model, data = files
    line = f"certify --model {model} --data {data} --n 600 --limit 6 --seed 3 --out {out} --executor local {options}"
    code, printed, err = ellzero(line)
    assert code == 0, err
    return printed


def save_input(files: tuple[Path, Path], index: int, path: Path) -> Path:
    with np.load(files[1]) as data:
        np.save(path, data["x"][index])
    return path


@pytest.mark.parametrize("stopping", ["settled", "staged", "anytime"])
def test_documents_of_a_run_are_verified_signed_and_drawn_again(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path, stopping: str
) -> None:
    out, key = tmp_path / "out", tmp_path / "key.pem"
    create_key(key)
    printed = certify(ellzero, files, out, f"--stopping {stopping} --certificates --sign {key}")
    rows = ResultStore(str(out)).table().to_pylist()
    certified = [row for row in rows if row["radius"] is not None]
    documents = sorted((out / "certificates").iterdir())
    assert [path.name for path in documents] == [f"{row['index']:09d}.json" for row in certified]
    assert f"{out}/certificates: {len(documents)} document" in printed
    signer = fingerprint(read_private_key(key).public_key())
    for path, row in zip(documents, certified, strict=True):
        document = verify_file(path).document
        assert (document.certified[0].budget, document.selected) == (row["radius"], row["prediction"])
        assert ellzero(f"verify {path} --public-key {public_path(key)}") == (
            0,
            f"verified: {document.claim} (signed with the key {signer})\n",
            "",
        )
    path, index = documents[-1], certified[-1]["index"]
    x = save_input(files, index, tmp_path / "x.npy")
    again = ellzero(f"verify {path} --model {files[0]} --input {x}")
    assert again.code == 0
    assert again.out.startswith("verified, and so do its votes when they are drawn again: With probability")
    other = ellzero(f"verify {path} --model {files[0]} --input {save_input(files, 19 - index, x)}")
    assert (other.code, other.out.startswith(f"NOT VERIFIED: {path}: the input is another one")) == (1, True)


def test_votes_that_were_not_drawn_so_are_found_by_drawing_them_again(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path
) -> None:
    """A document that follows from its votes, which are those of another seed."""
    out = tmp_path / "out"
    certify(ellzero, files, out, "--certificates --stopping never")
    path = min((out / "certificates").iterdir())
    fields = json.loads(path.read_bytes())
    path.write_text(json.dumps({**fields, "seed": fields["seed"] + 1}, sort_keys=True, separators=(",", ":")))
    assert ellzero(f"verify {path}").code == 0, "the claim follows from the votes"
    x = save_input(files, int(path.stem), tmp_path / "x.npy")
    code, printed, _ = ellzero(f"verify {path} --model {files[0]} --input {x}")
    assert code == 1
    assert "are others when they are drawn again" in printed


def test_documents_of_a_finished_run_are_written_by_the_same_command(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    certify(ellzero, files, out)
    assert not (out / "certificates").exists()
    assert "are certified already" in certify(ellzero, files, out, "--certificates")
    assert all(verify_file(path) for path in (out / "certificates").iterdir())


def test_documents_of_an_earlier_run_do_not_stay(ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    certify(ellzero, files, out, "--certificates")
    assert any((out / "certificates").iterdir())
    (out / "certificates" / "mine.txt").touch()
    certify(ellzero, files, out, "--overwrite")
    assert [path.name for path in (out / "certificates").iterdir()] == ["mine.txt"]


def test_runs_on_an_object_store_have_documents_and_are_verified(
    ellzero: Ellzero, files: tuple[Path, Path], s3_place: S3Place
) -> None:
    uri = s3_place()
    model, data = files
    line = f"certify --model {model} --data {data} --n 600 --limit 3 --seed 3 --executor local --certificates"
    assert ellzero(f"{line} --out '{uri}'").code == 0
    assert ellzero(f"verify '{uri}'").code == 0
    folder = Folder(uri.replace("?", "/certificates?"))
    assert folder.files()
    for name in folder.files():
        verify_document(folder.read(name))


@pytest.mark.parametrize(
    "options", ["--stopping staged", "--stopping hasty --runner-up", "--runner-up --stopping never"]
)
def test_every_radius_of_a_run_is_derived_again(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path, options: str
) -> None:
    out = tmp_path / "out"
    certify(ellzero, files, out, options)
    code, printed, _ = ellzero(f"verify {out}")
    assert code == 0
    assert printed.startswith("verified: the radii of 6 inputs are exactly what their votes prove; ")
    (part,) = out.glob("part-*.parquet")
    table = pq.read_table(part)
    radii = [None if radius is None else radius + 1 for radius in table["radius"].to_pylist()]
    changed = table.set_column(table.schema.get_field_index("radius"), "radius", [radii]).cast(table.schema)
    pq.write_table(changed, part)
    code, printed, _ = ellzero(f"verify {out}")
    problems = [index for index, radius in enumerate(radii) if radius is not None]
    assert code == 1
    for index in problems:
        assert f"input {index}: the votes do not prove the radius {radii[index]}" in printed
    assert printed.splitlines()[-1].startswith("NOT VERIFIED: ")


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("count", 1, "count is not that of the class"),
        ("drawn", 1, "drawn is not the number of votes"),
        ("l2", 3.5, "radii in l1, l2 or linf do not follow from these votes"),
    ],
)
def test_columns_that_repeat_the_votes_must_agree_with_them(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path, column: str, value: float, problem: str
) -> None:
    certify(ellzero, files, tmp_path / "out")
    (part,) = (tmp_path / "out").glob("part-*.parquet")
    table = pq.read_table(part)
    changed = table.set_column(table.schema.get_field_index(column), column, [[value] * 6]).cast(table.schema)
    pq.write_table(changed, part)
    code, printed, _ = ellzero(f"verify {tmp_path / 'out'}")
    assert (code, printed.splitlines()[0]) == (1, f"input 0: {problem}")


def test_what_no_verifier_covers_is_not_called_false(
    ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path
) -> None:
    model, data = files
    line = f"certify --model {model} --data {data} --n 300 --limit 2 --seed 3 --executor local --runner-up --top-k 2"
    refused = ellzero(f"{line} --out {tmp_path / 'other'} --certificates")
    assert refused.code == 2
    assert "--certificates is not for --runner-up with --top-k above 1" in refused.err
    assert ellzero(f"{line} --out {tmp_path / 'out'}").code == 0
    code, printed, error = ellzero(f"verify {tmp_path / 'out'}")
    assert code != 0
    assert "NOT VERIFIED" not in printed
    assert "cannot be verified: its radii are of --runner-up with --top-k above 1" in error


def test_files_that_are_no_certificates_are_one_line_and_exit_code_1(ellzero: Ellzero, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "huge").write_bytes(b"1" * 5_000_000)
    fields = draw_certificate(Random(1)).describe()
    (tmp_path / "false").write_text(json.dumps({**fields, "n0": 21}, sort_keys=True, separators=(",", ":")))
    for name in ("pipe", "binary", "empty", "huge", "false"):
        run = ellzero(f"verify {tmp_path / name}")
        assert (run.code, run.err, run.out.count("\n")) == (1, "", 1), name
        assert run.out.startswith(f"NOT VERIFIED: {tmp_path / name} "), name
    run = ellzero(f"verify {tmp_path}")
    assert (run.code, run.out, run.err) == (1, "", f"ellzero: {tmp_path} holds no results of ellzero\n")


def test_mistakes_are_one_line(ellzero: Ellzero, files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    path.write_bytes(draw_certificate(Random(1)).encode())
    check_mistake(ellzero("verify none.json"), "there is no file or folder none.json")
    check_mistake(ellzero(f"verify {path} --model demo-digits"), "give --model and --input together")
    check_mistake(
        ellzero(f"verify {tmp_path} --model m --input x"), "--public-key, --model and --input are for a single"
    )
    check_mistake(ellzero(f"verify {path} --model demo-digits --input {path}"), f"--input: {path}: is no .npy file")
    check_mistake(ellzero(f"verify {path} --public-key {path}"), "--public-key must be an Ed25519 public key")
    line = f"certify --model {files[0]} --data {files[1]} --out {tmp_path / 'out'}"
    check_mistake(ellzero(f"{line} --sign {path}"), "--sign is of documents: give --certificates too")
    gaussian = ellzero(f"{line} --noise gaussian --sigma 1 --certificates")
    check_mistake(gaussian, "noise must be of a family with exact certificates, such as discrete; got 'gaussian'")
