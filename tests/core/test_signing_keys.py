"""Keys are PEM files as OpenSSL writes them; a private key is readable by its owner only, and shown to nobody."""

import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from ellzero.core.errors import InvalidInput, StorageFailed
from ellzero.core.install_hint import install_hint
from ellzero.core.signing_keys import create_key, fingerprint, public_path, read_private_key, read_public_key


def test_a_new_key_is_its_owners_only_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    key = create_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert public_path(path) == tmp_path / "key.pub.pem"
    public = key.public_key()
    assert read_private_key(path).public_key() == public == read_public_key(public_path(path))
    assert create_key(tmp_path / "other.pem").public_key() != public


@pytest.mark.parametrize("name", ["key.pem", "key.pub.pem"])
def test_a_new_key_replaces_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(StorageFailed, match=f"{name}: File exists"):
        create_key(tmp_path / "key.pem")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]


def test_the_fingerprint_is_the_digest_of_the_der_form(tmp_path: Path) -> None:
    key = create_key(tmp_path / "key.pem").public_key()
    header = bytes.fromhex("302a300506032b6570032100")  # RFC 8410: a SubjectPublicKeyInfo of Ed25519
    assert fingerprint(key) == sha256(header + key.public_bytes_raw()).hexdigest()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_keys_of_openssl_are_read(tmp_path: Path) -> None:
    path, public = tmp_path / "key.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", path], check=True)
    subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-out", public], check=True)
    assert read_private_key(path).public_key() == read_public_key(public)


def test_other_files_are_refused_in_one_line_that_shows_no_key(tmp_path: Path) -> None:
    path, key = tmp_path / "key.pem", Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    other = rsa.generate_private_key(65537, 2048)
    other_private = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    other_public = other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    broken = private.replace(b"MC4C", b"MC4D")
    strange = [b"", b"prose", b"\xff\x00", der, locked, broken, other_private, other_public, private + b" " * 10**6]
    for data in [*strange, public]:
        path.write_bytes(data)
        with pytest.raises(InvalidInput) as refused:
            read_private_key(path)
        allowed = "an Ed25519 private key without a passphrase, in a PEM file"
        assert str(refused.value) == str(InvalidInput("key", allowed, str(path)))
    for data in [*strange, private]:
        path.write_bytes(data)
        with pytest.raises(InvalidInput) as refused:
            read_public_key(path)
        assert str(refused.value) == str(InvalidInput("public_key", "an Ed25519 public key in a PEM file", str(path)))


def test_a_key_that_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    for read in (read_private_key, read_public_key):
        with pytest.raises(StorageFailed, match="missing.pem: No such file"):
            read(tmp_path / "missing.pem")
    with pytest.raises(StorageFailed, match="key.pem: No such file"):
        create_key(tmp_path / "missing" / "key.pem")


def test_a_missing_library_is_named_with_its_extra() -> None:
    code = "import sys; sys.modules['cryptography'] = None; from ellzero.tables import check_manifest"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    needs = f"signing needs the Python module cryptography: {install_hint('sign')}"
    assert done.stderr.splitlines()[-1] == f"ellzero.core.errors.MissingExtra: {needs}"
