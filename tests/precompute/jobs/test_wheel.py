"""The wheel holds exactly the code that is imported here, to the byte, and installs like any other."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from precompute.bare_python import BarePython

from ellzero.precompute.jobs.wheel import Wheel, build_wheel

THRESHOLDS = ["-m", "ellzero", "thresholds", "--k", "255", "--alpha", "0.2", "--r-max", "8"]
DIGEST = ["-c", "from ellzero.precompute.jobs.wheel import build_wheel; print(build_wheel().digest)"]


@pytest.fixture(scope="module")
def wheel() -> Wheel:
    return build_wheel()


def python(executable: str | Path, arguments: list[str], **variables: str) -> str:
    environment = {**os.environ, **variables}
    command = [str(executable), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


def test_every_imported_file_is_in_it_and_nothing_compiled(wheel: Wheel) -> None:
    installed = {
        os.path.relpath(Path(folder) / file, Path(root).parent): (Path(folder) / file).read_bytes()
        for root in import_module("ellzero").__path__
        for folder, _, files in os.walk(root)
        for file in files
        if not folder.endswith("__pycache__")
    }
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        inside = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert inside == installed
    assert {"ellzero/__main__.py", "ellzero/precompute/jobs/wheel.py", "ellzero/certificates/py.typed"} <= set(inside)


def test_the_record_has_the_digest_of_every_file(wheel: Wheel) -> None:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        record = f"ellzero-{version('ellzero')}.dist-info/RECORD"
        rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert sorted(rows) == sorted(archive.namelist())
        assert rows.pop(record) == ("", "")
        for name, (digest, size) in rows.items():
            content = archive.read(name)
            hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={hashed}", str(len(content)))


def test_the_same_files_give_the_same_bytes(wheel: Wheel) -> None:
    assert build_wheel() == wheel
    assert wheel.digest == hashlib.sha256(wheel.content).hexdigest()
    assert python(sys.executable, DIGEST, PYTHONHASHSEED="7", TZ="Asia/Tokyo").strip() == wheel.digest


def test_nothing_in_it_tells_when_or_by_whom_it_was_built(wheel: Wheel) -> None:
    with zipfile.ZipFile(io.BytesIO(wheel.content)) as archive:
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {oct(entry.external_attr >> 16) for entry in entries} == {"0o100644"}
    assert {entry.compress_type for entry in entries} == {zipfile.ZIP_STORED}


def test_pip_installs_it_and_what_it_installs_makes_the_same_wheel(wheel: Wheel, tmp_path: Path) -> None:
    file = tmp_path / wheel.file_name
    file.write_bytes(wheel.content)
    bare = BarePython(tmp_path / "venv")
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(bare.packages), str(file)]
    python(sys.executable, pip)
    where = python(bare.executable, ["-c", "import ellzero.precompute as part; print(part.__file__)"])
    assert Path(where).is_relative_to(bare.packages)
    assert python(bare.executable, ["-m", "ellzero", "--version"]) == f"ellzero, version {version('ellzero')}\n"
    assert python(bare.executable, THRESHOLDS) == python(sys.executable, THRESHOLDS)
    assert python(bare.executable, DIGEST).strip() == wheel.digest


def test_of_two_installs_the_wheel_holds_the_one_that_is_imported(wheel: Wheel, tmp_path: Path) -> None:
    """A part that comes second on the path is not imported, and not even its extra files get into the wheel."""
    hidden = tmp_path / "ellzero" / "certificates"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise AssertionError")
    (hidden / "extra.py").write_text("raise AssertionError")
    code = (
        f"import sys; sys.path.append({str(tmp_path)!r}); import ellzero; assert len(ellzero.__path__) > 1;{DIGEST[1]}"
    )
    assert python(sys.executable, ["-c", code]).strip() == wheel.digest
