"""Keys that sign manifests of tables and certificates: Ed25519, in PEM files as OpenSSL writes them.

A private key never appears in a message: errors name the file, not what it holds.
"""

import hashlib
import os
from pathlib import Path

from ellzero.core.errors import InvalidInput, MissingExtra, StorageFailed

try:
    from cryptography.exceptions import InvalidSignature as InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey as Ed25519PrivateKey,
        Ed25519PublicKey as Ed25519PublicKey,
    )
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
        load_pem_private_key,
        load_pem_public_key,
    )
except ModuleNotFoundError:
    raise MissingExtra("signing", "sign", "cryptography") from None

_MOST_BYTES = 65_536
_PRIVATE_ALLOWED = "an Ed25519 private key without a passphrase, in a PEM file"
_PUBLIC_ALLOWED = "an Ed25519 public key in a PEM file"


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a PEM file, as ``openssl genpkey -algorithm ed25519`` writes it."""
    try:
        key = load_pem_private_key(_read_pem(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it has a passphrase
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput("key", _PRIVATE_ALLOWED, str(path))
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file, as ``openssl pkey -pubout`` writes it."""
    try:
        key = load_pem_public_key(_read_pem(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InvalidInput("public_key", _PUBLIC_ALLOWED, str(path))
    return key


def create_key(path: Path) -> Ed25519PrivateKey:
    """Write a new private key that only its owner may read, and its public key beside it. Replaces no file."""
    key = Ed25519PrivateKey.generate()
    _write_new(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)
    try:
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        _write_new(public_path(path), public, 0o644)
    except StorageFailed:
        path.unlink()
        raise
    return key


def public_path(path: Path) -> Path:
    """Where `create_key` writes the public key: ``key.pub.pem`` for ``key.pem``."""
    return path.with_name(f"{path.stem}.pub.pem")


def fingerprint(key: Ed25519PublicKey) -> str:
    """The SHA-256 of the key's DER form: ``openssl pkey -pubin -in PUB.pem -outform DER | sha256sum``."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def _read_pem(path: Path) -> bytes:
    """The bytes of a file; none of one that is too large for a key."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise StorageFailed(str(path), error.strerror or "cannot be read") from None
    return data if len(data) <= _MOST_BYTES else b""


def _write_new(path: Path, data: bytes, mode: int) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
    except OSError as error:
        raise StorageFailed(str(path), error.strerror or "cannot be written") from None
