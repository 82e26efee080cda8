"""A manifest is accepted exactly for the shards that were signed, as the bytes that were written, by that key."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from oracles.tables import alter_row, exact_slice, rows_from

from ellzero.certificates import Discrete
from ellzero.core.errors import InvalidInput
from ellzero.core.signing_keys import fingerprint
from ellzero.tables import (
    ColumnSlice,
    DamagedShard,
    InvalidManifest,
    Table,
    TableManifest,
    ThresholdIndex,
    check_manifest,
    compact,
    open_signed,
    read_manifest,
    sign_report,
    verify,
)
from ellzero.tables.store import digest_of

BYTES, BITS = Discrete(255, "1/10"), Discrete(1, "4/5")
WHOLE, CUT = exact_slice(BYTES), exact_slice(BITS, 20)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table of two shards."""
    new_table = Table.create(str(tmp_path / "table"))
    new_table.append([WHOLE])
    new_table.append([CUT])
    return new_table


@pytest.fixture
def path(table: Table, tmp_path: Path) -> Path:
    """The table's signed manifest."""
    file = tmp_path / "manifest.json"
    file.write_bytes(sign_report(verify(table), KEY))
    return file


def reason(path: Path) -> str:
    """Why a manifest is refused."""
    with pytest.raises(InvalidManifest) as refused:
        read_manifest(path)
    text = str(refused.value)
    assert "\n" not in text
    assert text.startswith(f"the manifest {path} ")
    return refused.value.reason


def write_beside(path: Path, data: bytes) -> Path:
    """A file beside another, which stays as it is for the next example."""
    changed = path.with_name("changed.json")
    changed.write_bytes(data)
    return changed


def sign_document(document: dict[str, Any]) -> bytes:
    """Any document as canonical JSON with a valid signature, which needs no code of ellzero."""

    def canonical(value: dict[str, Any]) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    bare = {name: value for name, value in document.items() if name != "signature"}
    return canonical({**bare, "signature": KEY.sign(canonical(bare)).hex()})


def test_a_manifest_says_what_was_signed(table: Table, path: Path) -> None:
    manifest = read_manifest(path, KEY.public_key())
    assert manifest == read_manifest(path)
    assert manifest.digests == tuple(sorted(map(digest_of, table.store.names())))
    assert (manifest.rows, manifest.version, manifest.key) == (136 + 21, "0.1.0", KEY.public_key())
    assert check_manifest(table, manifest) == []
    document = json.loads(path.read_bytes())
    assert sign_document(document) == path.read_bytes()
    assert [*document] == ["digests", "format", "kind", "public_key", "rows", "signature", "version"]


def lower_row(piece: ColumnSlice, r: int) -> ColumnSlice:
    """A slice whose threshold at r, with its flag and min_p, is that of r − 1: it certifies too much."""
    units = [piece.rows.scaled_ceiling(at) for at in range(len(piece.rows))]
    exact, min_p = piece.rows.exact.copy(), piece.rows.min_p.copy()
    units[r], exact[r], min_p[r] = units[r - 1], exact[r - 1], min_p[r - 1]
    return ColumnSlice(piece.key, piece.first, rows_from(units, exact, min_p), piece.end)


def test_a_lowered_threshold_may_escape_recomputing_but_never_the_manifest(table: Table, path: Path) -> None:
    (name,) = (name for name, slices in table.shards() if slices[0].key == BYTES)
    table.store.remove([name])
    (forged,) = table.append([lower_row(WHOLE, 60)])
    too_much = ThresholdIndex.open(table.store.uri).radius(float(WHOLE.rows.min_p[59]), BYTES, 784)
    assert too_much.radius == 60, "the attack is a real one"
    unnoticed = [verify(table, seed=seed).sound for seed in range(20)]
    assert sum(unnoticed) >= 15
    assert not verify(table, 1).sound
    assert check_manifest(table, read_manifest(path, KEY.public_key())) == [
        f"shard {digest_of(name)} of the manifest is missing",
        f"shard {forged} is not in the manifest",
    ]


def test_missing_additional_and_changed_shards_are_named(table: Table, path: Path) -> None:
    manifest = read_manifest(path)
    first, second = table.store.names()
    data = bytearray((Path(table.store.location) / first).read_bytes())
    data[50] ^= 4
    (Path(table.store.location) / first).write_bytes(data)
    damaged = f"shard {first} is damaged: its bytes are not those that its name promises"
    assert check_manifest(table, manifest) == [damaged]
    table.store.remove([second])
    (added,) = table.append([exact_slice(BITS, 3)])
    missing = f"shard {digest_of(second)} of the manifest is missing"
    assert check_manifest(table, manifest) == [missing, f"shard {added} is not in the manifest", damaged]


def test_a_compacted_table_has_to_be_signed_again(table: Table, path: Path) -> None:
    compact(table)
    (merged,) = table.store.names()
    assert len(check_manifest(table, read_manifest(path))) == 3
    path.write_bytes(sign_report(verify(table), KEY))
    assert read_manifest(path).digests == (digest_of(merged),)
    assert check_manifest(table, read_manifest(path)) == []


def test_a_table_is_opened_only_as_it_was_signed(table: Table, path: Path) -> None:
    uri, key = table.store.uri, KEY.public_key()
    signed = open_signed(uri, path, key)
    assert ThresholdIndex.open(signed).radius(0.99, BYTES, 784) == ThresholdIndex.open(table).radius(0.99, BYTES, 784)
    with pytest.raises(InvalidManifest, match="is signed with the key"):
        open_signed(uri, path, OTHER.public_key())
    (added,) = table.append([exact_slice(BITS, 3)])
    for reading in (lambda: open_signed(uri, path, key), lambda: ThresholdIndex.open(signed)):
        with pytest.raises(InvalidManifest) as refused:
            reading()
        assert refused.value.reason == f"is not of the table {uri}: shard {added} is not in the manifest"
    compact(table)
    with pytest.raises(InvalidManifest, match="of the manifest is missing, and 2 more problems"):
        open_signed(uri, path, key)


def test_an_opened_table_reads_no_other_bytes(table: Table, path: Path) -> None:
    signed = open_signed(table.store.uri, path, KEY.public_key())
    first, second = table.store.names()
    data = (Path(table.store.location) / second).read_bytes()
    (Path(table.store.location) / first).write_bytes(data)
    with pytest.raises(DamagedShard, match=f"shard {first} is damaged"):
        ThresholdIndex.open(signed)


def test_only_the_key_that_is_expected_will_do(path: Path) -> None:
    with pytest.raises(InvalidManifest) as refused:
        read_manifest(path, OTHER.public_key())
    mine, other = fingerprint(KEY.public_key()), fingerprint(OTHER.public_key())
    assert refused.value.reason == f"is signed with the key {mine}, not with {other}"


def test_a_signature_by_another_key_is_refused(path: Path) -> None:
    manifest = read_manifest(path)
    path.write_bytes(manifest.encode(OTHER.sign(manifest.signed_bytes())))
    assert reason(path) == "has no valid signature: it is not as it was signed"


def test_what_is_unsound_or_was_not_verified_is_not_signed(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "table"))
    with pytest.raises(InvalidInput, match="report must be of a table that `verify` found to be sound"):
        sign_report(verify(table), KEY)
    table.append([alter_row(WHOLE, 0, units=-1)])
    with pytest.raises(InvalidInput, match="report must be .*; got 'NOT SOUND"):
        sign_report(verify(table), KEY)


quick = settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(st.data())
def test_a_flipped_bit_is_refused(path: Path, data: st.DataObject) -> None:
    original = path.read_bytes()
    changed = bytearray(original)
    changed[data.draw(st.integers(0, len(original) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    reason(write_beside(path, bytes(changed)))


FIELDS = ("digests", "format", "kind", "public_key", "rows", "signature", "version")
any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just(1.0),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
hexadecimal = st.text("0123456789abcdefABCDEF", min_size=64, max_size=64)
other_values = any_json | hexadecimal | st.lists(hexadecimal) | st.tuples(hexadecimal, hexadecimal).map("".join)


@quick
@given(st.sampled_from(FIELDS), other_values)
def test_a_changed_field_is_refused(path: Path, field: str, value: object) -> None:
    document = json.loads(path.read_bytes())
    assume(document[field] is not value and (document[field] != value or type(document[field]) is not type(value)))
    changed = json.dumps({**document, field: value}, sort_keys=True, separators=(",", ":"))
    reason(write_beside(path, changed.encode()))


@settings(quick, max_examples=100)
@given(st.permutations(FIELDS))
def test_another_order_of_the_keys_is_refused(path: Path, order: list[str]) -> None:
    assume(order != sorted(order))
    document = json.loads(path.read_bytes())
    changed = json.dumps({name: document[name] for name in order}, separators=(",", ":"))
    assert (
        reason(write_beside(path, changed.encode())) == "is not canonical JSON: sorted keys, each once, and no spaces"
    )


CANONICAL = "is not canonical JSON"


@pytest.mark.parametrize(
    ("rewrite", "text"),
    [
        (lambda data: data + b"\n", CANONICAL),
        (lambda data: b" " + data, CANONICAL),
        (lambda data: data.replace(b":", b": "), CANONICAL),
        (lambda data: data.replace(b'"rows":157', b'"rows":157,"rows":157'), CANONICAL),
        (lambda data: data.replace(b'"rows":157', b'"rows":1,"rows":157'), CANONICAL),
        (lambda data: data.replace(b"0.1.0", rb"\u0030.1.0"), CANONICAL),
        (lambda data: data.decode().encode("utf-16"), CANONICAL),
        (lambda data: b"\xef\xbb\xbf" + data, CANONICAL),
        (lambda data: data[:-1], "is not JSON"),
        (lambda data: b"", "is not JSON"),
        (lambda data: b"\xff\xfe\xff", "is not JSON"),
        (lambda data: b"[" * 100_000, "is not JSON"),
        (lambda data: b"1" * 100_000, "is not JSON"),
        (lambda data: b"[]", 'is not of the kind "ellzero table manifest"'),
        (lambda data: b"{}", 'is not of the kind "ellzero table manifest"'),
        (lambda data: b"-----BEGIN PRIVATE KEY-----", "is not JSON"),
    ],
)
def test_other_bytes_are_refused_in_one_line(path: Path, rewrite: Callable[[bytes], bytes], text: str) -> None:
    data = path.read_bytes()
    assert rewrite(data) != data
    path.write_bytes(rewrite(data))
    assert reason(path).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"format": 2}, "is not of format 1, which is the one that this ellzero reads"),
        ({"format": True}, "is not of format 1"),
        ({"format": 1.0}, "has a number that is no integer: 1.0"),
        ({"kind": "paper"}, "is not of the kind"),
        (
            {"more": 1},
            "does not have exactly these fields: digests, public_key, rows, signature, version, format, kind",
        ),
        ({"rows": -1}, "has a field rows that no manifest has"),
        ({"rows": 2**63}, "has a field rows that no manifest has"),
        ({"rows": True}, "has a field rows that no manifest has"),
        ({"digests": []}, "has a field digests that no manifest has"),
        ({"digests": ["f" * 64, "0" * 64]}, "has a field digests that no manifest has"),
        ({"digests": ["0" * 64, "0" * 64]}, "has a field digests that no manifest has"),
        ({"digests": ["F" * 64]}, "has a field digests that no manifest has"),
        ({"digests": "0" * 64}, "has a field digests that no manifest has"),
        ({"version": "a\nb"}, "has a field version that no manifest has"),
        ({"public_key": "0" * 63}, "has a field public_key that no manifest has"),
        ({"public_key": "f" * 64}, "has no valid signature"),
    ],
)
def test_a_signature_makes_no_manifest_of_another_document(path: Path, changes: dict[str, Any], text: str) -> None:
    """Everything here is signed with the right key."""
    path.write_bytes(sign_document({**json.loads(path.read_bytes()), **changes}))
    assert reason(path).startswith(text)


def test_a_file_that_is_huge_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.truncate(10**12)
    assert reason(huge) == "has more than 20 MB, which no manifest has"
    assert reason(tmp_path / "missing") == "cannot be read: No such file or directory"
    assert reason(tmp_path) == "cannot be read: Is a directory"


def test_a_manifest_determines_its_bytes() -> None:
    manifest = TableManifest(("0" * 64,), 1, "0.1.0", "1" * 64)
    assert manifest.encode(bytes(64)) == (
        b'{"digests":["%s"],"format":1,"kind":"ellzero table manifest","public_key":"%s","rows":1,"signature":"%s",'
        b'"version":"0.1.0"}' % (b"0" * 64, b"1" * 64, b"0" * 128)
    )
