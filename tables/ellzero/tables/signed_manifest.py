"""Signed manifests: whose rows a table has, without recomputing any.

A digest in a shard's name says that its bytes are those that somebody wrote, not who. Whoever can write to a table can
lower a threshold, keep its min_p consistent, and give the shard its new name. A manifest lists the digests of all
shards and is signed with Ed25519: if the signature is valid and the shards are exactly those listed, the rows are the
signer's. Compaction changes the digests, so a manifest is of one state of a table.

The file is canonical JSON: ASCII, sorted keys, no spaces, each key once. What is signed is the same document without
``signature``. Any other bytes of the same meaning are refused.
"""

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ellzero.core.canonical_json import NotCanonical, read_canonical, read_small_file, write_canonical
from ellzero.core.errors import InvalidInput
from ellzero.core.signing_keys import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
    InvalidSignature,
    fingerprint,
)
from ellzero.core.text import count_noun
from ellzero.tables.errors import DamagedShard, InvalidManifest
from ellzero.tables.store import Store, digest_of
from ellzero.tables.table import Table
from ellzero.tables.verification import VerificationReport

FORMAT: Final = 1
# Part of what is signed, so that no other document signed with the same key passes for a manifest.
KIND: Final = "ellzero table manifest"
_MOST_BYTES = 20_000_000  # 290,000 shards, of up to 262,144 rows each
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)


@dataclass(frozen=True)
class TableManifest:
    """What a signer states of a table: the digests of its shards, how many rows they have, and by which version.

    The digests determine every row; ``rows`` and ``version`` are for people. ``public_key`` is the key's 32 bytes in
    hex.
    """

    digests: tuple[str, ...]
    rows: int
    version: str
    public_key: str

    @property
    def key(self) -> Ed25519PublicKey:
        """The signer's public key."""
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.public_key))

    def signed_bytes(self) -> bytes:
        """What is signed."""
        return write_canonical(self._describe())

    def encode(self, signature: bytes) -> bytes:
        """The bytes of the file."""
        return write_canonical({**self._describe(), "signature": signature.hex()})

    def _describe(self) -> dict[str, Any]:
        return {**asdict(self), "format": FORMAT, "kind": KIND}


def sign_report(report: VerificationReport, key: Ed25519PrivateKey) -> bytes:
    """The signed manifest of the very shards in which `verify` found nothing wrong."""
    if not report.sound or not report.digests:
        raise InvalidInput("report", "of a table that `verify` found to be sound", str(report))
    public_key = key.public_key().public_bytes_raw().hex()
    manifest = TableManifest(tuple(report.digests), report.rows, version("ellzero"), public_key)
    return manifest.encode(key.sign(manifest.signed_bytes()))


def read_manifest(path: Path, public_key: Ed25519PublicKey | None = None) -> TableManifest:
    """The manifest in a file, whose signature is valid. Raises `InvalidManifest` for anything else.

    Without a ``public_key`` anybody may have made it; with one, it is refused unless that key has signed it.
    """
    place, data = str(path), _read_file(path)
    manifest, signature = _parse(place, data)
    try:
        manifest.key.verify(signature, manifest.signed_bytes())
    except (InvalidSignature, ValueError):  # ValueError: bytes that are no key
        raise InvalidManifest(place, "has no valid signature: it is not as it was signed") from None
    if public_key is not None and public_key != manifest.key:
        signer, expected = fingerprint(manifest.key), fingerprint(public_key)
        raise InvalidManifest(place, f"is signed with the key {signer}, not with {expected}")
    return manifest


def check_manifest(table: Table, manifest: TableManifest) -> list[str]:
    """How the shards of a table differ from those of a manifest; nothing if the rows are the signer's.

    Every byte of every shard is read and compared with its digest.
    """
    return table.store.retry_reading(lambda: _check_once(table, manifest))


def open_signed(uri: str, path: Path, public_key: Ed25519PublicKey) -> Table:
    """The table at a path or URI, from which only rows are read that this key has signed.

    Every reading raises `InvalidManifest` unless the shards are exactly those of the manifest in the file ``path``, and
    `DamagedShard` unless their bytes are. So nobody can exchange a shard between a check and the reading.
    """
    table = Table(_SignedStore(uri, str(path), read_manifest(path, public_key)))
    table.store.names()
    return table


class _SignedStore(Store):
    """The shards under one URI, which must be those of a manifest whenever they are listed."""

    def __init__(self, uri: str, place: str, manifest: TableManifest) -> None:
        super().__init__(uri)
        self._place = place
        self._manifest = manifest

    def names(self) -> list[str]:
        names = super().names()
        problems = _compare_names(names, self._manifest)
        if problems:
            more = f", and {count_noun(len(problems) - 1, 'more problem')}" if problems[1:] else ""
            raise InvalidManifest(self._place, f"is not of the table {self.uri}: {problems[0]}{more}")
        return names


def _check_once(table: Table, manifest: TableManifest) -> list[str]:
    names = table.store.names()
    problems = _compare_names(names, manifest)
    listed = set(manifest.digests)
    for name in names:
        try:
            if digest_of(name) in listed:
                table.store.read(name)
        except DamagedShard as error:
            problems.append(str(error))
    return problems


def _compare_names(names: list[str], manifest: TableManifest) -> list[str]:
    """Which shards of the manifest are missing, and which others there are."""
    digests, listed = set(map(digest_of, names)), set(manifest.digests)
    missing = [f"shard {digest} of the manifest is missing" for digest in manifest.digests if digest not in digests]
    return missing + [f"shard {name} is not in the manifest" for name in names if digest_of(name) not in listed]


def _parse(place: str, data: bytes) -> tuple[TableManifest, bytes]:
    """The manifest and its signature, not verified yet. The bytes are exactly those that `encode` gives."""
    try:
        document = read_canonical(data)
    except NotCanonical as error:
        raise InvalidManifest(place, str(error)) from None
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise InvalidManifest(place, f'is not of the kind "{KIND}"')
    if type(document.get("format")) is not int or document["format"] != FORMAT:
        raise InvalidManifest(place, f"is not of format {FORMAT}, which is the one that this ellzero reads")
    if document.keys() != _FIELDS.keys() | {"kind", "format"}:
        raise InvalidManifest(place, f"does not have exactly these fields: {', '.join(sorted(_FIELDS))}, format, kind")
    for field, fits in _FIELDS.items():
        if not fits(document[field]):
            raise InvalidManifest(place, f"has a field {field} that no manifest has")
    manifest = TableManifest(tuple(document["digests"]), document["rows"], document["version"], document["public_key"])
    return manifest, bytes.fromhex(document["signature"])


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _are_digests(value: object) -> bool:
    """Whether it is a list of digests, sorted and each once."""
    if not isinstance(value, list) or not value or not all(map(_is_digest, value)):
        return False
    return all(before < after for before, after in pairwise(value))


_FIELDS: Final[dict[str, Callable[[Any], bool]]] = {
    "digests": _are_digests,
    "public_key": _is_digest,  # 32 bytes too
    "rows": lambda value: type(value) is int and 0 < value < 2**63,
    "signature": lambda value: isinstance(value, str) and _SIGNATURE.fullmatch(value) is not None,
    "version": lambda value: isinstance(value, str) and value.isprintable() and len(value) < 100,
}


def _read_file(path: Path) -> bytes:
    try:
        data = read_small_file(path, _MOST_BYTES)
    except OSError as error:
        raise InvalidManifest(str(path), f"cannot be read: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise InvalidManifest(str(path), f"has more than {_MOST_BYTES // 1_000_000} MB, which no manifest has")
    return data
