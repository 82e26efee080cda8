"""``ellzero tables``: what it prints, and one clear line for every mistake, with nothing written."""

import csv
import io
import json
import re
from base64 import b64decode
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import Ellzero, Run
from oracles.tables import alter_row, contents, cut, exact_slice, files, list_rows, literal_slice, with_footer

from ellzero.certificates import Discrete, Mask, Sparse, column, paper_threshold, radius, threshold
from ellzero.tables import PaperTable, Table, bundled
from ellzero.tables.format import shard
from ellzero.tables.store import Store

BYTES, BITS, FLAT = Discrete(255, "1/10"), Discrete(1, "4/5"), Discrete(3, "1/4")

LOOKUP = "radius --table"


def prefix(command: str) -> str:
    """The words before a table."""
    return command if command == LOOKUP else f"tables {command}"


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A table with a complete, a cut and a flat column in two shards."""
    place = tmp_path / "table"
    new_table = Table.create(str(place))
    new_table.append([exact_slice(BYTES), exact_slice(FLAT)])
    new_table.append([exact_slice(BITS, 5)])
    return str(place)


@pytest.fixture
def paper(tmp_path: Path) -> str:
    place = str(tmp_path / "paper")
    PaperTable.create(place).append([paper_threshold(BYTES, 784, 7), paper_threshold(BITS, 9, 1)])
    return place


def one_line(run: Run, code: int, *texts: str) -> None:
    """Nothing on standard output, one line on standard error."""
    assert (run.code, run.out) == (code, ""), run
    assert run.err.startswith("ellzero: ")
    assert run.err.count("\n") == 1
    for text in texts:
        assert text in run.err, run.err


def test_info_says_what_a_table_holds(ellzero: Ellzero, table: str) -> None:
    run = ellzero(f"tables info {table}")
    assert (run.code, run.err) == (0, "")
    size = sum(len(data) for data in files(Path(table)).values())
    assert run.out.splitlines() == [
        f"{table}: thresholds, format 1, 20 digits, by ellzero.certificates 0.1.0",
        f"143 rows, {size:,} bytes in 2 shards",
        "K (categories minus one): 1, 3, 255",
        "α (total probability of staying): 1/10 to 4/5",
        "3 columns: 1 complete, 1 flat, 1 cut",
    ]


def test_info_in_json_says_it_all(ellzero: Ellzero, table: str, paper: str) -> None:
    info = json.loads(ellzero(f"tables info {table} --json").out)
    assert (info["table"], info["kind"], info["format"], info["digits"]) == (table, "thresholds", 1, 20)
    assert (info["rows"], info["columns"], info["shards"]) == (143, 3, 2)
    assert info["ends"] == {"complete": 1, "flat": 1, "cut": 1}
    assert info["k"] == [1, 3, 255]
    assert info["conventions"]["k"] == "number of categories minus one"
    info = json.loads(ellzero(f"tables info {paper} --json").out)
    assert (info["kind"], info["rows"], info["d"], info["k"]) == ("paper thresholds", 2, [9, 784], [1, 255])


def test_info_of_a_table_of_the_paper(ellzero: Ellzero, paper: str) -> None:
    lines = ellzero(f"tables info {paper}").out.splitlines()
    assert lines[0].startswith(f"{paper}: paper thresholds, format 1")
    assert lines[-1] == "d: 9, 784"


def test_the_shipped_table_is_the_default(ellzero: Ellzero) -> None:
    info = json.loads(ellzero("tables info --json").out)
    assert info["table"] == str(bundled.LOCATION)
    assert info["columns"] > 1_000
    assert ellzero("tables lookup").code == 2, "radius --table replaces it"
    assert len(ellzero("tables export --format text --k 255 --alpha 0.1").out.splitlines()) == 136
    assert "255" in ellzero("tables show --alpha 0.1").out


def test_show_lists_columns(ellzero: Ellzero, table: str) -> None:
    lines = ellzero(f"tables show {table}").out.splitlines()
    assert [line.split() for line in lines] == [
        ["K", "α", "rows", "ends"],
        ["1", "4/5", "6", "cut"],
        ["3", "1/4", "1", "flat"],
        ["255", "1/10", "136", "complete"],
    ]
    assert len(ellzero(f"tables show {table} --k 3").out.splitlines()) == 2
    assert len(ellzero(f"tables show {table} --alpha 0.1").out.splitlines()) == 2
    assert len(ellzero(f"tables show {table} --k 7").out.splitlines()) == 1


def test_show_of_one_column_says_its_conventions_and_rows(ellzero: Ellzero, table: str) -> None:
    lines = ellzero(f"tables show {table} --k 1 --alpha 0.8").out.splitlines()
    assert lines[0] == "K = 1 (2 categories), α = 4/5 (total probability of staying): cut"
    assert len(lines) == 2 + 6
    assert lines[3].split() == ["1", "0.87500000000000000000", "0.8750000000000001", "(exact)"]
    assert ellzero(f"tables show {table} --k 255 --alpha 0.1").out.splitlines()[9].split() == [
        "7",
        "0.98739814896523242496",
        repr(column(BYTES, 7).rows[7].min_p),
    ]


def test_show_of_a_table_of_the_paper_has_d_and_bounds(ellzero: Ellzero, paper: str) -> None:
    lines = ellzero(f"tables show {paper}").out.splitlines()
    assert len(lines) == 3
    assert lines[2].split()[:5] == ["255", "1/10", "784", "7", "0.98739814896523242496"]
    bounds = [line.split()[5] for line in lines[1:]]
    assert bounds == ["1.343E-1", "1.001E-20"]  # 0.8^9 = 0.134217… and 10^-20 + 0.1^784, rounded up


@pytest.mark.parametrize(
    "p", ["0.6", "0.5", "0.9873", "0.98739814896523242496", "1", "2/3", "0.99999999999999999999999"]
)
def test_lookup_prints_the_radius(ellzero: Ellzero, table: str, p: str) -> None:
    run = ellzero(f"radius --table {table} --k 255 --alpha 0.1 --d 784 --p {p}")
    certified = radius(BYTES, p, 784)
    assert run.code == 0
    assert run.out.splitlines()[-1] == f"{'abstain' if certified is None else certified}"


def test_lookup_says_when_the_table_was_too_short(ellzero: Ellzero, table: str) -> None:
    run = ellzero(f"radius --table {table} --k 1 --alpha 0.8 --d 784 --p 0.999999")
    assert run.out.splitlines()[-1] == f"{radius(BITS, '0.999999', 784)}"
    assert run.err == "ellzero: the table does not reach that far; the rest was computed\n"
    assert ellzero(f"radius --table {table} --k 1 --alpha 0.8 --d 784 --p 0.9").err == ""
    run = ellzero(f"radius --table {table} --k 7 --alpha 0.8 --d 784 --p 0.9")
    assert run.err.count("\n") == 1
    before = files(Path(table))
    assert files(Path(table)) == before


def test_lookup_of_votes(ellzero: Ellzero) -> None:
    votes = f"radius --table {bundled.LOCATION} --count 99900 --n 100000 --k 255 --alpha 0.2 --d 150528"
    assert ellzero(votes).out.splitlines()[-1] == "7"
    assert ellzero(f"{votes} --failure 1e-9").out.splitlines()[-1] == "6"
    few = f"radius --table {bundled.LOCATION} --count 5 --n 9 --k 255 --alpha 0.2 --d 9"
    assert ellzero(few).out.splitlines()[-1] == "abstain"


def test_verify_ends_with_its_verdict(ellzero: Ellzero, table: str) -> None:
    run = ellzero(f"tables verify {table}")
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[-1].startswith("sound: 143 rows of 3 columns in 2 shards, ")
    run = ellzero(f"tables verify {table} --all")
    assert run.out == "sound: 143 rows of 3 columns in 2 shards, 143 recomputed\n"
    assert ellzero(f"tables verify {table} --share 0 --seed 7").out.endswith(
        " 5 recomputed; with a share of 0, a single wrong row escapes with probability 1\n"
    )


def test_verify_of_a_wrong_table_exits_with_one(ellzero: Ellzero, tmp_path: Path) -> None:
    place = str(tmp_path / "wrong")
    Table.create(place).append([alter_row(exact_slice(BYTES), 60, ulps=-1)])
    run = ellzero(f"tables verify {place}")
    assert (run.code, run.err) == (1, "")
    assert run.out.splitlines()[0].endswith(".parquet: K = 255, α = 1/10, r = 60: min_p does not fit the threshold")
    assert run.out.splitlines()[-1].startswith("NOT SOUND: ")


def test_a_verdict_with_many_problems_shows_the_first_ones(ellzero: Ellzero, tmp_path: Path) -> None:
    part = exact_slice(BYTES)
    for r in range(10, 60):
        part = alter_row(part, r, ulps=-1)
    Table.create(str(tmp_path / "wrong")).append([part])
    lines = ellzero(f"tables verify {tmp_path}/wrong --share 0").out.splitlines()
    assert len(lines) == 22
    assert lines[20] == "… and 30 more"


def test_verify_of_a_damaged_table_says_which_shard(ellzero: Ellzero, table: str) -> None:
    name = Table.open(table).store.names()[0]
    data = bytearray((Path(table) / name).read_bytes())
    data[99] ^= 1
    (Path(table) / name).write_bytes(data)
    run = ellzero(f"tables verify {table}")
    assert run.code == 1
    assert run.out.startswith(f"shard {name} is damaged: its bytes are not those that its name promises\n")
    before = files(Path(table))
    for command, options in (("compact", ""), (LOOKUP, "--k 1 --alpha 0.8 --d 9 --p 0.9"), ("export", "--out {out}")):
        line = f"{prefix(command)} {table} {options}".format(out=Path(table).parent / "out.csv")
        one_line(ellzero(line), 1, f"shard {name} is damaged")
    assert files(Path(table)) == before
    assert [path.name for path in Path(table).parent.iterdir()] == ["table"]


def test_verify_against_the_paper_and_against_another_table(
    ellzero: Ellzero, table: str, paper: str, tmp_path: Path
) -> None:
    run = ellzero(f"tables verify {table} --against {paper}")
    assert (run.code, run.err) == (0, "")
    assert run.out == "sound: 2 rows of 3 columns in 2 shards, 2 compared with the paper's algorithm\n"
    run = ellzero(f"tables verify {table} --against {bundled.LOCATION}")
    assert (run.code, run.out.split(":")[0]) == (0, "sound")
    wrong = str(tmp_path / "wrong")
    Table.create(wrong).append([alter_row(exact_slice(BYTES), 7, units=1)])
    assert ellzero(f"tables verify {wrong} --against {paper}").code == 1
    assert ellzero(f"tables verify {wrong} --against {table}").code == 1


def test_a_signed_table_is_verified_without_recomputing(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    run = ellzero(f"tables sign {table} --new-key {tmp_path}/key.pem --out {tmp_path}/manifest.json")
    assert run.code == 0
    assert run.out.startswith("sound: 143 rows of 3 columns in 2 shards, ")
    signer = re.fullmatch(r"ellzero: signed with the key ([0-9a-f]{64}): .*/manifest.json\n", run.err)
    assert signer is not None, run.err
    manifest = f"tables verify {table} --manifest {tmp_path}/manifest.json"
    signed = (
        f"as signed: 143 rows in 2 shards, by ellzero 0.1.0 with the key {signer[1]}; they are the signer's, so none "
        "has to be recomputed"
    )
    anybody = f"anybody could have signed this, with the key {signer[1]}: give --public-key to say whose it must be"
    assert ellzero(f"{manifest} --public-key {tmp_path}/key.pub.pem") == Run(0, f"{signed}\n", "")
    assert ellzero(manifest) == Run(0, f"{anybody}\n{signed}\n", "")
    all_rows = "sound: 143 rows of 3 columns in 2 shards, 143 recomputed"
    assert ellzero(f"{manifest} --public-key {tmp_path}/key.pub.pem --all").out == f"{signed}\n{all_rows}\n"
    again = ellzero(f"tables sign {table} --key {tmp_path}/key.pem --all --out {tmp_path}/again.json")
    assert (again.code, again.out) == (0, f"{all_rows}\n")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "manifest.json").read_bytes()


def test_a_table_other_than_the_signed_one_exits_with_one(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    for name in ("key", "other"):
        ellzero(f"tables sign {table} --new-key {tmp_path}/{name}.pem --out {tmp_path}/{name}.json")
    signed = set(Table.open(table).store.names())
    ellzero(f"tables compact {table}")
    (merged,) = Table.open(table).store.names()
    run = ellzero(f"tables verify {table} --manifest {tmp_path}/key.json --public-key {tmp_path}/key.pub.pem --all")
    assert (run.code, run.err) == (1, "")
    assert run.out.splitlines() == [
        *(f"shard {name.removesuffix('.parquet')} of the manifest is missing" for name in sorted(signed)),
        f"shard {merged} is not in the manifest",
        f"NOT AS SIGNED: 3 problems with the shards of {tmp_path}/key.json",
    ]
    run = ellzero(f"tables verify {table} --manifest {tmp_path}/key.json --public-key {tmp_path}/other.pub.pem")
    one_line(run, 1, f"the manifest {tmp_path}/key.json is signed with the key ", ", not with ")
    one_line(ellzero(f"tables verify {table} --manifest {tmp_path}/key.pem"), 1, "key.pem is not JSON")
    one_line(ellzero(f"tables verify {table} --manifest {tmp_path}/none"), 1, "none cannot be read: No such file")


def test_an_unsound_table_is_not_signed(ellzero: Ellzero, tmp_path: Path) -> None:
    place = str(tmp_path / "wrong")
    Table.create(place).append([alter_row(exact_slice(BYTES), 60, units=-1)])
    run = ellzero(f"tables sign {place} --new-key {tmp_path}/key.pem --out {tmp_path}/manifest.json --all")
    assert run.code == 1
    assert run.out.splitlines()[-1].startswith("NOT SOUND: ")
    assert not (tmp_path / "manifest.json").exists()


def test_signing_shows_nothing_of_the_private_key(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    ellzero(f"tables sign {table} --new-key {tmp_path}/key.pem --out {tmp_path}/manifest.json")
    secret = (tmp_path / "key.pem").read_text().splitlines()[1]
    lines = (
        f"sign {table} --key {tmp_path}/key.pem --out {tmp_path}/manifest.json",
        f"sign {table} --new-key {tmp_path}/key.pem --out {tmp_path}/manifest.json",
        f"verify {table} --manifest {tmp_path}/manifest.json --public-key {tmp_path}/key.pem",
        f"verify {table} --manifest {tmp_path}/key.pem",
    )
    runs = [ellzero(f"tables {line}") for line in lines]
    assert [run.code for run in runs] == [0, 1, 2, 1]
    shown = "".join(run.out + run.err for run in runs) + (tmp_path / "manifest.json").read_text()
    assert secret not in shown
    seed = b64decode(secret)[-32:]  # RFC 8410: the last bytes of the PKCS #8 form are the key
    assert seed.hex() not in shown


def test_compact_says_what_it_did(ellzero: Ellzero, table: str) -> None:
    before = contents(Table.open(table))
    run = ellzero(f"tables compact {table}")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith("2 shards of ")
    assert " bytes became 1 shard of " in run.out
    assert contents(Table.open(table)) == before


def test_export_as_csv_and_json(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    run = ellzero(f"tables export {table}")
    rows = list(csv.DictReader(io.StringIO(run.out)))
    assert len(rows) == 143
    assert [row["threshold"] for row in rows if (row["k"], row["r"]) == ("255", "7")] == ["0.98739814896523242496"]
    assert len(ellzero(f"tables export {table} --k 3 --alpha 0.25").out.splitlines()) == 2
    run = ellzero(f"tables export {table} --format json --out {tmp_path}/rows.json")
    assert (run.code, run.out, run.err) == (0, "", "")
    assert [column["k"] for column in json.loads((tmp_path / "rows.json").read_text())["columns"]] == [1, 3, 255]
    ellzero(f"tables export {table} --out {tmp_path}/rows.csv")
    assert (tmp_path / "rows.csv").read_text().splitlines() == ellzero(f"tables export {table}").out.splitlines()
    assert {path.name for path in tmp_path.iterdir()} == {"table", "rows.json", "rows.csv"}


def test_an_exported_list_is_imported_as_equal(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    ellzero(f"tables export {table} --format text --k 255 --alpha 0.1 --out {file}")
    assert file.read_text().splitlines()[7] == "7\t0.98739814896523242496"
    run = ellzero(f"tables import {file} --k 255 --alpha 0.1")
    assert (run.code, run.err) == (0, "")
    assert run.out.splitlines()[0] == " unsound: 0 rows"
    assert run.out.splitlines()[1].startswith("   equal: 136 rows (r = 0, 1, 2, ")
    assert run.out.splitlines()[1].endswith(", …)")
    assert run.out.splitlines()[2] == "   loose: 0 rows"


def test_only_exact_values_enter_a_table(ellzero: Ellzero, tmp_path: Path) -> None:
    file, into = tmp_path / "list.txt", str(tmp_path / "into")
    file.write_text("0\t0.5\n7\t0.9874\n")
    run = ellzero(f"tables import {file} --k 255 --alpha 0.1 --into {into}")
    assert (run.code, run.err) == (0, f"ellzero: 8 exact rows added to {into}\n")
    assert contents(Table.open(into)) == {BYTES: [list_rows(exact_slice(BYTES, 7))]}
    file.write_text("0\t0.5\n7\t0.9873\n8\t0.99999\n")
    run = ellzero(f"tables import {file} --k 255 --alpha 0.1 --into {into}")
    assert run.code == 1
    assert run.out.splitlines() == [" unsound: 1 rows (r = 7)", "   equal: 1 rows (r = 0)", "   loose: 1 rows (r = 8)"]
    assert run.err.splitlines()[-1] == "ellzero: 1 of 3 rows are unsound"
    assert contents(Table.open(into)) == {BYTES: [list_rows(exact_slice(BYTES, 8))]}


def test_a_list_for_another_noise_is_unsound_or_loose(ellzero: Ellzero, table: str, tmp_path: Path) -> None:
    file = tmp_path / "list.txt"
    ellzero(f"tables export {table} --format text --k 255 --alpha 0.1 --out {file}")
    assert ellzero(f"tables import {file} --k 255 --alpha 0.2").code == 1
    run = ellzero(f"tables import {file} --k 255 --alpha 0.05")
    assert run.code == 0
    assert " equal: 1 rows" in run.out or " equal: 2 rows" in run.out


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("verify {table} --share 2", "--share must be a number from 0 to 1; got '2'"),
        ("verify {table} --share nan", "--share must be a number from 0 to 1; got 'nan'"),
        ("verify {table} --seed -1", "Invalid value for '--seed': -1 is not in the range x>=0."),
        ("verify {table} --seed x", "Invalid value for '--seed': 'x' is not a valid integer."),
        ("show {table} --k 0", "Invalid value for '--k': 0 is not in the range 1<=x<=100000000."),
        ("show {table} --alpha 2", "--alpha must be a rational number"),
        ("export {table} --format text", "a plain list is of one column: give --k and --alpha"),
        ("export {table} --k 255", "give both --k and --alpha, or neither"),
        ("export {table} --alpha 0.1 --format json", "give both --k and --alpha, or neither"),
        ("export {table} --format xml", "'xml' is not one of"),
        ("export {table} --out {tmp}", "is a directory"),
        ("compact", "Missing argument 'TABLE'"),
        ("sign --out {tmp}/m", "Missing argument 'TABLE'"),
        ("sign {table} --key {tmp}/text", "Missing option '--out'"),
        ("sign {table} --out {tmp}/m", "give either --key or --new-key"),
        ("sign {table} --key {tmp}/text --new-key {tmp}/k.pem --out {tmp}/m", "give either --key or --new-key"),
        ("sign {table} --key {tmp}/text --out {tmp}/m", "--key must be an Ed25519 private key without a passphrase"),
        ("verify {table} --manifest {tmp}/text --public-key {tmp}/text", "--public-key must be an Ed25519 public key"),
        ("verify {table} --manifest {tmp}/text --against {table}", "give either --against or --manifest, not both"),
        ("verify {table} --public-key {tmp}/text", "--public-key is of a manifest: give --manifest too"),
        ("import {tmp}/missing --k 1 --alpha 0.8", "No such file or directory"),
        ("import {tmp}/binary --k 1 --alpha 0.8", "is not a text file"),
        ("import {tmp}/empty --k 1 --alpha 0.8", "holds no rows"),
        ("import {tmp}/text --k 1 --alpha 0.8", "text is no list of thresholds: line 1 must be a radius and a decimal"),
        ("import {tmp}/list --k 1 --alpha 8", "--alpha must be a rational number"),
        ("nothing", "no command 'nothing'. There are compact, export, import, info, show, sign, verify."),
        ("info {table} --all", "No such option"),
    ],
)
def test_a_mistake_is_one_line_with_exit_code_two(
    ellzero: Ellzero, table: str, tmp_path: Path, line: str, text: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").write_text("# nothing\n")
    (tmp_path / "text").write_text("some prose\n")
    (tmp_path / "list").write_text("0\t0.5\n")
    before = files(tmp_path)
    one_line(ellzero("tables " + line.format(table=table, tmp=tmp_path)), 2, text)
    assert files(tmp_path) == before


NOTHING = ("info", "show", LOOKUP, "verify", "compact", "export")


@pytest.mark.parametrize("command", NOTHING)
@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("{tmp}/missing", "{tmp}/missing holds no table"),
        ("{tmp}/file", "{tmp}/file is a file, and a table is a directory"),
        ("{tmp}/foreign", "{tmp}/foreign is not a table of ellzero: it holds notes.txt"),
        ("{tmp}/parquet", "{tmp}/parquet is not a table of ellzero: mine.parquet is not one of its shards"),
        ("{tmp}/newer", "has format 3, and this ellzero reads up to 2: upgrade ellzero"),
        ("{tmp}/file/below", "{tmp}/file/below"),
        ("ftps://host/table", "ftps://host/table: no such file system"),
    ],
)
def test_a_place_without_a_table_is_one_line_with_exit_code_one(
    ellzero: Ellzero, tmp_path: Path, command: str, place: str, text: str
) -> None:
    for name in ("foreign", "parquet"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "foreign" / "notes.txt").write_text("mine")
    (tmp_path / "parquet" / "mine.parquet").write_text("mine")
    newer = Store(str(tmp_path / "newer"))
    newer.prepare()
    newer.put(with_footer(shard.encode([exact_slice(BITS, 5)]), lambda stated: stated.update(format=3)))
    before = files(tmp_path)
    options = "--k 1 --alpha 0.8 --d 9 --p 0.9" if command == LOOKUP else ""
    one_line(ellzero(f"{prefix(command)} {place.format(tmp=tmp_path)} {options}"), 1, text.format(tmp=tmp_path))
    assert files(tmp_path) == before
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("command", [LOOKUP, "verify", "compact", "export"])
def test_a_table_of_the_paper_cannot_be_looked_up(ellzero: Ellzero, paper: str, command: str) -> None:
    options = "--k 1 --alpha 0.8 --d 9 --p 0.9" if command == LOOKUP else ""
    text = f"{paper} holds a table of paper thresholds, not of thresholds"
    one_line(ellzero(f"{prefix(command)} {paper} {options}"), 1, text)


@pytest.mark.parametrize(
    "line",
    [
        "show {table} --k 9 --alpha 0.8",
        "export {table} --k 9 --alpha 0.8",
        "export {table} --format text --k 9 --alpha 0.8",
    ],
)
def test_a_column_that_is_not_there_is_one_line(ellzero: Ellzero, table: str, line: str) -> None:
    run = ellzero("tables " + line.format(table=table))
    one_line(run, 1, f"{table} has no column K = 9, α = 4/5")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("export {table} --out {tmp}/missing/rows.csv", "missing"),
        ("export {table} --out {tmp}/list/rows.csv", "list"),
        ("import {tmp}/list --k 1 --alpha 0.8 --into {tmp}/list", "{tmp}/list is a file, and a table is a directory"),
        ("import {tmp}/list --k 1 --alpha 0.8 --into {tmp}/list/below", "{tmp}/list/below: Not a directory"),
        ("import {tmp}/list --k 1 --alpha 0.8 --into /proc/ellzero", "/proc/ellzero"),
        ("import {tmp}/list --k 1 --alpha 0.8 --into ftps://host/x", "ftps://host/x: no such file system"),
        ("import {tmp}/list --k 1 --alpha 0.8 --into {paper}", "{paper} holds a table of paper thresholds"),
        ("verify {table} --against {tmp}/missing", "{tmp}/missing holds no table"),
    ],
)
def test_a_place_that_cannot_be_used_is_one_line_that_names_it(
    ellzero: Ellzero, table: str, paper: str, tmp_path: Path, line: str, text: str
) -> None:
    (tmp_path / "list").write_text("0\t0.5\n")
    before = files(tmp_path)
    places = {"table": table, "paper": paper, "tmp": str(tmp_path)}
    run = ellzero("tables " + line.format(**places))
    assert run.code == 1
    assert run.err.count("\n") == 1
    assert text.format(**places) in run.err
    assert files(tmp_path) == before


def test_an_export_that_fails_leaves_the_file_that_was_there(
    ellzero: Ellzero, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of two columns is damaged in a way that shows only when it is read."""
    place, out = tmp_path / "table", tmp_path / "rows.csv"
    new_table = Table.create(str(place))
    new_table.append([exact_slice(BITS, 5)])
    new_table.append([cut(exact_slice(BYTES), 0, 9)])
    new_table.append([alter_row(cut(exact_slice(BYTES), 3, 12), 5, units=1)])
    out.write_text("what was there\n")
    one_line(ellzero(f"tables export {place} --out {out}"), 1, "shards disagree about K = 255, α = 1/10")
    assert out.read_text() == "what was there\n"
    assert {path.name for path in tmp_path.iterdir()} == {"table", "rows.csv"}


def test_the_commands_work_on_s3(ellzero: Ellzero, s3_place: Callable[[], str], tmp_path: Path) -> None:
    file, uri = tmp_path / "list.txt", s3_place()
    file.write_text("9\t1\n")
    quoted = f"'{uri}'"
    one_line(ellzero(f"tables info {quoted}"), 1, "holds no table")
    assert ellzero(f"tables import {file} --k 255 --alpha 0.1 --into {quoted}").code == 0
    Table.open(uri).append([exact_slice(FLAT)])
    assert ellzero(f"tables compact {quoted}").out.startswith("2 shards of ")
    assert ellzero(f"tables verify {quoted} --all").out == "sound: 11 rows of 2 columns in 1 shard, 11 recomputed\n"
    assert ellzero(f"radius --table {quoted} --k 255 --alpha 0.1 --d 7 --p 0.99").out.splitlines()[-1] == "7"
    rows = [
        line.split("\t")
        for line in ellzero(f"tables export {quoted} --format text --k 255 --alpha 0.1").out.split("\n")
    ]
    assert [Decimal(row[1]) for row in rows[:-1]] == [row.value for row in column(BYTES, 9).rows]
    assert len(ellzero(f"tables show {quoted}").out.splitlines()) == 3


@pytest.mark.parametrize("command", [*(name for name in NOTHING if name != LOOKUP), "import"])
def test_every_command_explains_itself(ellzero: Ellzero, command: str) -> None:
    run = ellzero(f"tables {command} --help")
    assert run.code == 0
    assert run.out.startswith(f"Usage: ellzero tables {command} ")
    assert command in ellzero("tables --help").out


@pytest.fixture
def budgets(ellzero: Ellzero, tmp_path: Path) -> str:
    """A table of discrete noise, sparse noise, and masks at q = 1/3."""
    out = f"{tmp_path}/budgets"
    for line in (
        "--family sparse --p-add 0.01 --p-del 0.6,0.7 --max add=2,delete=4",
        "--family mask --m 0.9 --max 3 --q 1/3",
        "--k 1 --alpha 0.8 --r-max 5",
    ):
        assert ellzero(f"precompute {line} --out {out}").code == 0
    return out


def test_info_of_a_table_of_families(ellzero: Ellzero, budgets: str) -> None:
    lines = ellzero(f"tables info {budgets}").out.splitlines()
    assert lines[0].startswith(f"{budgets}: thresholds, format 2, 20 digits")
    assert lines[2:] == [
        "K (categories minus one): 1",
        "α (total probability of staying): 4/5 to 4/5",
        "noises of other families, at one q each: 1 mask, 2 sparse",
        "8 columns: 0 complete, 0 flat, 8 cut",
    ]
    assert json.loads(ellzero(f"tables info {budgets} --json").out)["families"] == {"mask": 1, "sparse": 2}


def test_show_of_families(ellzero: Ellzero, budgets: str) -> None:
    assert ellzero(f"tables show {budgets}").out.splitlines() == [
        "        K          α      rows  ends",
        "        1        4/5         6  cut",
        "Mask(m='9/10'), q = 1/3: 4 rows of 1 column, change ≤ 3",
        "Sparse(p_add='1/100', p_del='3/5'), q = 1/2: 15 rows of 3 columns, add ≤ 2, delete ≤ 4",
        "Sparse(p_add='1/100', p_del='7/10'), q = 1/2: 15 rows of 3 columns, add ≤ 2, delete ≤ 4",
    ]
    assert len(ellzero(f"tables show {budgets} --family sparse").out.splitlines()) == 2
    lines = ellzero(f"tables show {budgets} --family sparse --p-del 0.6").out.splitlines()
    assert lines[0] == "Sparse(p_add='1/100', p_del='3/5'), q = 1/2"
    assert lines[1].split()[:2] == ["add", "delete"]
    exact = threshold(Sparse("0.01", "0.6"), {"add": 1, "delete": 2})
    assert next(line for line in lines if line.split()[:2] == ["1", "2"]).split()[2] == str(exact)
    assert len(ellzero(f"tables show {budgets} --q 1/3").out.splitlines()) == 1


def test_rows_that_no_p_certifies_are_said_so(ellzero: Ellzero, tmp_path: Path) -> None:
    ellzero(f"precompute --family mask --m 0.6 --max 9 --out {tmp_path}/t")
    assert ellzero(f"tables show {tmp_path}/t --family mask").out.splitlines()[-1].split()[2:4] == ["no", "p"]
    column = json.loads(ellzero(f"tables export {tmp_path}/t --format json").out)["columns"][0]
    assert (column["threshold"][-1], column["min_p"][-1], column["end"]) == ("1.00000000000000000000", None, "complete")


def test_export_of_families(ellzero: Ellzero, budgets: str) -> None:
    lines = ellzero(f"tables export {budgets} --family sparse --p-del 3/5").out.splitlines()
    rows = list(csv.DictReader(lines))
    assert len(rows) == 15
    assert json.loads(rows[0]["family"]) == {"family": "sparse", "p_add": "1/100", "p_del": "3/5"}
    values = {row["budget"]: row["threshold"] for row in rows}
    assert values["1 2"] == str(threshold(Sparse("0.01", "0.6"), {"add": 1, "delete": 2}))
    text = ellzero(f"tables export {budgets} --format text --family mask").out.splitlines()
    assert text[1] == f"1\t{threshold(Mask('0.9'), 1, '1/3')}"
    columns = json.loads(ellzero(f"tables export {budgets} --format json").out)["columns"]
    assert [(column.get("k"), column.get("fixed")) for column in columns][:3] == [(1, None), (None, []), (None, [0])]
    one_line(
        ellzero(f"tables export {budgets}"),
        2,
        "this table has the discrete noise and others: give --family, or --format json",
    )
    one_line(ellzero(f"tables export {budgets} --format text --family sparse"), 2, "a plain list is of one column")
    one_line(ellzero(f"tables export {budgets} --family ablation"), 1, "has no such column")


def test_a_family_is_looked_up(ellzero: Ellzero, budgets: str) -> None:
    line = "radius --family sparse --p-add 0.01 --p-del 0.6 --limits add=2,delete=4"
    for evidence in ("--p 0.9", "--count 990 --n 1000"):
        here, there = ellzero(f"{line} {evidence}"), ellzero(f"{line} {evidence} --table {budgets}")
        assert (there.code, there.out, there.err) == (0, here.out, "")
    further = ellzero(f"{line.replace('delete=4', 'delete=9')} --p 0.95 --table {budgets}")
    assert further.err == "ellzero: the table does not reach that far; the rest was computed\n"
    masks = "radius --family mask --m 0.9 --limits 3 --p 0.7 --top-k 2"
    assert ellzero(f"{masks} --table {budgets}").out == ellzero(masks).out


def test_families_are_verified_and_a_false_row_is_found(ellzero: Ellzero, tmp_path: Path, budgets: str) -> None:
    verdict = ellzero(f"tables verify {budgets} --all")
    assert (verdict.code, verdict.out) == (0, "sound: 40 rows of 8 columns in 3 shards, 40 recomputed\n")
    piece = literal_slice(Sparse("0.01", "0.6"), Fraction(1, 2), (1,), 4)
    Table.open(budgets).append([alter_row(piece, 2, units=1)])
    verdict = ellzero(f"tables verify {budgets}")
    assert verdict.code == 1
    assert "q = 1/2, add = 1, delete = 2: not what exact arithmetic gives" in verdict.out


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("--family dense", "--family must be discrete, sparse"),
        ("--family sparse --p-add 2", "--p-add must be a rational number"),
        ("--q 2", "--q must be a number from 0 to 1"),
    ],
)
def test_a_wrong_filter_is_one_line(ellzero: Ellzero, budgets: str, line: str, text: str) -> None:
    one_line(ellzero(f"tables show {budgets} {line}"), 2, text)
