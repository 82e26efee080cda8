"""The installed ellzero as a wheel, so that another machine can run exactly this code.

The wheel is made from what Python imports here, not from a checkout: it works for editable installs, whose rooms
lie in several source roots, and for installs from a wheel; it needs no network and no build backend.

Guarantee: the same installed files give the same bytes, on every machine and at every time. Entries are sorted, carry
one fixed time and one fixed permission, and are stored uncompressed, since compressors differ between zlib versions.
"""

import base64
import hashlib
import io
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import Distribution, distribution
from pathlib import Path

_PACKAGE = "ellzero"
_COMPILED = {".pyc", ".pyo"}
# The rest of an installed dist-info says how it was installed here: INSTALLER, REQUESTED, direct_url.json, RECORD.
_METADATA = ("METADATA", "entry_points.txt")
_LICENSES = "licenses"
_WHEEL = "Wheel-Version: 1.0\nGenerator: ellzero\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip archive can say


@dataclass(frozen=True)
class Wheel:
    """A pure-Python wheel: its file name and its bytes."""

    file_name: str
    content: bytes

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes: two wheels of one digest hold the same code."""
        return hashlib.sha256(self.content).hexdigest()


def build_wheel() -> Wheel:
    """The wheel of the installed ellzero."""
    installed = distribution(_PACKAGE)
    version = installed.version.replace("-", "_")
    info = f"{_PACKAGE}-{version}.dist-info"
    files = {**dict(_code()), **{f"{info}/{name}": content for name, content in _metadata(installed)}}
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    record = f"{info}/RECORD"
    lines = [f"{name},{_record_hash(content)},{len(content)}" for name, content in sorted(files.items())]
    files[record] = "".join(f"{line}\n" for line in [*lines, f"{record},,"]).encode()
    return Wheel(f"{_PACKAGE}-{version}-py3-none-any.whl", _archive(files))


def _code() -> Iterator[tuple[str, bytes]]:
    """Every file of the namespace package by its path in the wheel, package data included.

    A package that several roots hold is taken from the first of them, as the import system does.
    """
    entries: dict[str, Path] = {}
    for root in import_module(_PACKAGE).__path__:
        for entry in Path(root).iterdir():
            entries.setdefault(entry.name, entry)
    for entry in entries.values():
        for path in entry.rglob("*") if entry.is_dir() else [entry]:
            inside = path.relative_to(entry.parent)
            hidden = any(step.startswith(".") or step == "__pycache__" for step in inside.parts)
            if path.is_file() and not hidden and path.suffix not in _COMPILED:
                yield f"{_PACKAGE}/{inside.as_posix()}", path.read_bytes()


def _metadata(installed: Distribution) -> Iterator[tuple[str, bytes]]:
    for name in _METADATA:
        text = installed.read_text(name)
        if text is not None:
            yield name, text.encode()
    for file in installed.files or []:
        inside = file.parts[1:]
        if file.parts[0].endswith(".dist-info") and inside[0] == _LICENSES:
            yield "/".join(inside), file.read_binary()


def _record_hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def _archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        # Sorted, but the dist-info last, where installers look for it first.
        for name in sorted(files, key=lambda name: (".dist-info/" in name, name)):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system = 3  # Unix, whatever system builds it; the permissions below are Unix's
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()
