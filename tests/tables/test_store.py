"""Shards appear whole or not at all, a wrong byte shows, and every refusal of the storage is one clear line."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from command_line import run_together
from oracles.tables import exact_slice, files
from pyarrow import fs
from s3_server import S3Place

from ellzero.certificates import Discrete
from ellzero.core import EllzeroError
from ellzero.tables import DamagedShard, NotATable, StorageFailed, Table
from ellzero.tables.format import shard
from ellzero.tables.store import Store

SHARDS = [shard.encode([exact_slice(Discrete(k, "4/5"), 3)]) for k in range(1, 9)]
GONE = f"{'0' * 64}.parquet"


def name_of(data: bytes) -> str:
    return f"{hashlib.sha256(data).hexdigest()}.parquet"


def python(script: str, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)


def mock_store() -> Store:
    """A store on a file system that is neither this machine's nor an object store."""
    store = Store("somewhere")
    store._fs, store._path, store._local = fs._MockFileSystem(), "some/where", False
    return store


@pytest.fixture(params=["local", "uri", "s3", "other"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "other":
        return mock_store()
    if request.param == "s3":
        place: S3Place = request.getfixturevalue("s3_place")
        return Store(place())
    return Store(str(tmp_path / "table") if request.param == "local" else f"file://{tmp_path}/table")


def test_a_shard_is_listed_read_and_removed(store: Store) -> None:
    assert store.names() == []
    store.prepare()
    assert store.names() == []
    names = [store.put(data) for data in SHARDS]
    assert names == [name_of(data) for data in SHARDS]
    assert store.names() == sorted(names)
    assert [store.read(name) for name in names] == SHARDS
    assert [store.size(name) for name in names] == [len(data) for data in SHARDS]
    store.remove([names[0], GONE, names[1]])
    assert store.names() == sorted(names[2:])
    with pytest.raises(FileNotFoundError):
        store.read(names[0])


def test_putting_the_same_bytes_twice_changes_nothing(store: Store) -> None:
    store.prepare()
    assert store.put(SHARDS[0]) == store.put(SHARDS[0])
    assert store.names() == [name_of(SHARDS[0])]


def damage(store: Store, name: str, data: bytes) -> None:
    with store._fs.open_output_stream(store._at(name)) as stream:
        stream.write(data)


def test_a_damaged_shard_is_detected_set_aside_and_healed(store: Store) -> None:
    store.prepare()
    good, bad = store.put(SHARDS[0]), store.put(SHARDS[1])
    damage(store, bad, SHARDS[1][:-9])
    with pytest.raises(DamagedShard):
        store.read(bad)
    store.set_aside(bad)
    assert store.names() == [good]
    assert store.put(SHARDS[1]) == bad
    assert store.read(bad) == SHARDS[1]
    assert store.names() == sorted([good, bad])
    damage(store, bad, b"")
    store.put(SHARDS[1])
    assert store.read(bad) == SHARDS[1]


def test_a_shard_set_aside_keeps_its_bytes(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    name = store.put(SHARDS[0])
    damage(store, name, b"other")
    store.set_aside(name)
    assert files(tmp_path) == {f"{name}.damaged": b"other"}


def test_only_what_killed_writers_left_long_ago_is_swept(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    name = store.put(SHARDS[0])
    old, new = (tmp_path / f".ellzero-{digit * 32}.tmp" for digit in "12")
    other = tmp_path / "notes.tmp"
    for file in (old, new, other):
        file.write_bytes(b"part of a sh")
    days_ago = time.time() - 3 * 86_400
    for file in (old, other, tmp_path / name):
        os.utime(file, (days_ago, days_ago))
    store.sweep()
    assert {file.name for file in tmp_path.iterdir()} == {name, new.name, "notes.tmp"}


def test_a_run_that_goes_on_for_days_keeps_its_mark(tmp_path: Path) -> None:
    """Compaction is safe while others write, however long they take."""
    store = Store(str(tmp_path))
    with store.run_mark() as mark:
        assert mark is not None
        days_ago = time.time() - 3 * 86_400
        os.utime(tmp_path / mark, (days_ago, days_ago))
        Store(str(tmp_path)).sweep()
        store.check_shared(mark)


def test_a_run_s_mark_tells_who_shares_the_directory(tmp_path: Path) -> None:
    here, elsewhere = Store(str(tmp_path / "a")), Store(str(tmp_path / "b"))
    here.prepare()
    elsewhere.prepare()
    with here.run_mark() as mark:
        assert here.names() == []
        Store(str(tmp_path / "a")).check_shared(mark)
        with pytest.raises(StorageFailed, match="does not see the same directory; give a shared one or an s3:// URI"):
            elsewhere.check_shared(mark)
    assert files(tmp_path) == {}
    with mock_store().run_mark() as mark:
        assert mark is None
        elsewhere.check_shared(mark)


_FULL = """
import resource, sys
from oracles.tables import exact_slice
from ellzero.certificates import Discrete
from ellzero.tables import StorageFailed, Table
table = Table.create(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
try:
    table.append([exact_slice(Discrete(255, "1/10"))])
except StorageFailed as error:
    print(error)
"""


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    with python(_FULL, str(tmp_path / "table")) as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"{tmp_path}/table: File too large\n"
    assert process.returncode == 0
    assert list((tmp_path / "table").iterdir()) == []


_PUT_FOREVER = """
import sys
from ellzero.tables.store import Store
store = Store(sys.argv[1])
number = int(sys.argv[2])
print("ready", flush=True)
while True:
    store.put(b"%d " % number * 50_000)
    number += 1
"""


def test_a_killed_writer_leaves_only_whole_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    store, count = Store(str(tmp_path)), 0
    for attempt in range(4):
        with python(_PUT_FOREVER, str(tmp_path), str(attempt * 10**6)) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            deadline = time.monotonic() + 60
            while len(store.names()) < count + 5 + attempt and time.monotonic() < deadline:
                pass
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert len(store.names()) >= count + 5
        count = len(store.names())
    for name in store.names():
        store.read(name)
    leftovers = [file.name for file in tmp_path.iterdir() if file.name not in store.names()]
    assert all(re.fullmatch(r"\.ellzero-[0-9a-f]{32}\.tmp", name) for name in leftovers)


_PUT_SOME = """
import sys
from ellzero.tables.store import Store
store = Store(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2]), int(sys.argv[2]) + 40):
    store.put(b"%d " % number * 1_000)
"""


def test_many_writers_of_overlapping_content_make_one_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    run_together(_PUT_SOME, [[str(tmp_path), str(10 * start)] for start in range(4)])
    expected = {name_of(b"%d " % number * 1_000): b"%d " % number * 1_000 for number in range(70)}
    store = Store(str(tmp_path))
    assert {name: store.read(name) for name in store.names()} == expected
    assert files(tmp_path) == expected


def test_a_listing_never_misses_rows_that_move_to_another_shard(tmp_path: Path) -> None:
    """A compaction writes the new shard before it deletes the old one, so a listing shows at least one of them."""
    store = Store(str(tmp_path))
    for number in range(1_200):  # others write at the same time; a directory of this size takes a while to list
        (tmp_path / f".ellzero-{number:032x}.tmp").touch()
    misses = 0
    for trial in range(30):
        old, new = (b"%d %d" % (trial, which) for which in (0, 1))
        name = store.put(old)

        def move(wait: float = trial / 30 * 0.005, name: str = name, new: bytes = new) -> None:
            time.sleep(wait)
            store.put(new)
            store.remove([name])

        mover = threading.Thread(target=move)
        mover.start()
        misses += not set(store.names()) & {name, name_of(new)}
        mover.join()
        store.remove([name_of(new)])
    assert misses == 0


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (["data.parquet"], "is not a table of ellzero: data.parquet is not one of its shards"),
        ([f"{'A' * 64}.parquet"], f"is not a table of ellzero: {'A' * 64}.parquet is not one of its shards"),
        (["notes.txt", "a.py"], "is not a table of ellzero: it holds a.py"),
    ],
)
def test_a_foreign_directory_is_refused(tmp_path: Path, content: list[str], line: str) -> None:
    for name in content:
        (tmp_path / name).write_text("mine")
    before = files(tmp_path)
    with pytest.raises(NotATable) as error:
        Store(str(tmp_path)).names()
    assert str(error.value) == f"{tmp_path} {line}"
    assert files(tmp_path) == before


def test_a_foreign_parquet_file_between_shards_is_refused_and_other_files_are_not(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    name = store.put(SHARDS[0])
    (tmp_path / "README.md").write_text("what this is")
    assert store.names() == [name]
    (tmp_path / "mine.parquet").write_bytes(SHARDS[0])
    with pytest.raises(NotATable, match="mine.parquet is not one of its shards"):
        store.names()


def test_a_file_is_not_a_table(tmp_path: Path) -> None:
    file = tmp_path / "table"
    file.write_text("mine")
    with pytest.raises(NotATable) as error:
        Store(str(file)).names()
    assert str(error.value) == f"{file} is a file, and a table is a directory"


@pytest.mark.parametrize("place", ["{tmp}/file/table", "/proc/ellzero/table", "/proc/self/table"])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    uri = place.format(tmp=tmp_path)
    with pytest.raises(StorageFailed) as error:
        Store(uri).prepare()
    assert str(error.value).startswith(f"{uri}: ")
    assert "\n" not in str(error.value)


def test_a_directory_that_was_removed_is_one_line(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "table"))
    store.prepare()
    (tmp_path / "table").rmdir()
    with pytest.raises(StorageFailed) as error:
        store.put(SHARDS[0])
    assert str(error.value).startswith(f"{tmp_path}/table: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("ftps://host/table", "no such file system: Unrecognized filesystem type in URI"),
        ("file://host/table", "no such file system: Unsupported hostname"),
        ("s3://bucket/table?colour=red", "no such file system: Unexpected query parameter in S3 URI: 'colour'"),
        ("s3://bucket name/table", "no such file system: Cannot parse URI"),
    ],
)
def test_a_uri_that_nothing_can_open_is_one_line(uri: str, text: str) -> None:
    with pytest.raises(StorageFailed) as error:
        Store(uri)
    assert str(error.value).startswith(f"{uri}: {text}")
    assert "\n" not in str(error.value)


def test_a_missing_bucket_is_one_line(s3_options: str) -> None:
    store = Store(f"s3://nowhere/table?{s3_options}")
    assert store.names() == []
    with pytest.raises(StorageFailed, match="bucket does not exist") as error:
        store.put(SHARDS[0])
    assert "\n" not in str(error.value)


def test_a_missing_bucket_is_noticed_before_anything_is_computed_for_it(s3_options: str) -> None:
    with pytest.raises(StorageFailed):
        Store(f"s3://nowhere/table?{s3_options}").prepare()


def test_a_secret_in_a_uri_is_never_shown(s3_options: str) -> None:
    """pyarrow reads s3://key:secret@bucket; messages end up in logs."""
    uri = f"s3://testing:hunter2@nowhere/table?{s3_options}"
    with pytest.raises(EllzeroError) as error:
        Store(uri).put(SHARDS[0])
    assert "hunter2" not in str(error.value)
    with pytest.raises(EllzeroError) as error:
        Table.open(uri)
    assert "hunter2" not in str(error.value)


def test_an_endpoint_that_does_not_answer_is_one_line(s3_options: str) -> None:
    """Nobody listens on port 9."""
    store = Store(f"s3://tables/table?{re.sub(r':[0-9]+', ':9', s3_options)}")
    with pytest.raises(StorageFailed, match="NETWORK_CONNECTION") as error:
        store.names()
    assert "\n" not in str(error.value)


def test_a_location_is_the_same_place_for_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store("some/table").location == str(tmp_path / "some/table")
    assert Store(f"file://{tmp_path}/table").location == str(tmp_path / "table")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store("~/table").location == str(tmp_path / "table")
