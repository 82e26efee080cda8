"""The inputs of a run are those that it certified, or the reason says why they are not shown."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from serve.results_folders import certified, certify_bits, write_images, write_results

from ellzero.serve.results import run_data as module
from ellzero.serve.results.certified_run import CertifiedRun
from ellzero.serve.results.run_data import RunData, RunDataCache
from ellzero.smoothing.data.source import DataSource
from ellzero.smoothing.errors import BadData

ROWS = [(0, certified(0, 1))] * 4


def make_run(folder: Path, source: DataSource | None) -> CertifiedRun:
    write_results(folder / "run", ROWS, source=source)
    return CertifiedRun("run", folder / "run")


def load(cache: RunDataCache, run: CertifiedRun) -> RunData:
    found = cache.find(run)
    assert isinstance(found, RunData), found
    return found


def test_inputs_are_those_of_the_data_set(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images.npz")
    loaded, data = load(RunDataCache(), make_run(tmp_path, source)), source.load()
    for index in range(4):
        found = loaded.read(index)
        assert np.array_equal(found.x, data.inputs([index])[0])
        assert (found.label, found.levels) == (data.labels[index], 256)


def test_data_that_is_replaced_moved_or_restored_is_noticed(tmp_path: Path) -> None:
    source, cache = write_images(tmp_path / "images.npz"), RunDataCache()
    run, content = make_run(tmp_path, source), (tmp_path / "images.npz").read_bytes()
    load(cache, run)
    write_images(tmp_path / "images.npz", seed=2)
    assert cache.find(run) == "images.npz is not the data set that this run certified"
    (tmp_path / "images.npz").write_bytes(b"PK")
    assert "images.npz is not an .npz file" in str(cache.find(run))
    (tmp_path / "images.npz").unlink()
    assert cache.find(run) == "images.npz does not exist"
    (tmp_path / "images.npz").write_bytes(content)
    load(cache, run)


def test_runs_of_one_data_set_share_it(tmp_path: Path) -> None:
    source, cache = write_images(tmp_path / "images.npz"), RunDataCache()
    runs = [make_run(tmp_path / name, source) for name in ("one", "two")]
    assert load(cache, runs[0]) is load(cache, runs[1])


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_images_in_folders_are_read_one_by_one_and_checked_each_time(tmp_path: Path, shuffle: int | None) -> None:
    for place, name in enumerate(("cat", "dog")):
        (tmp_path / "photos" / name).mkdir(parents=True)
        Image.new("RGB", (40, 30), (200, 10 * place, 7)).save(tmp_path / "photos" / name / "one.png")
    source = DataSource(str(tmp_path / "photos"), "test", None, 16, None, shuffle=shuffle)
    cache, run = RunDataCache(), make_run(tmp_path, source)
    cat, dog = np.argsort(source.load().labels).tolist()
    found = load(cache, run).read(dog)
    assert found.x.shape == (3, 16, 16)
    assert found.x[:, 0, 0].tolist() == [200, 10, 7]
    assert found.label == 1
    Image.new("RGB", (40, 30), (1, 2, 3)).save(tmp_path / "photos" / "dog" / "one.png")
    load(cache, run).read(cat)
    with pytest.raises(BadData, match="has changed since this run"):
        load(cache, run).read(dog)
    assert RunDataCache().find(run) == "photos is not the data set that this run certified"


def test_a_run_that_does_not_say_where_its_data_is_says_so(tmp_path: Path) -> None:
    run, cache = make_run(tmp_path, None), RunDataCache()
    assert "its folder has no source.json" in str(cache.find(run))
    (tmp_path / "run" / "source.json").write_text("{")
    assert cache.find(run) == "source.json is damaged: it is not JSON"


def test_the_features_of_trees_are_not_shown(tmp_path: Path) -> None:
    certify_bits(tmp_path, tmp_path / "run")
    reason = RunDataCache().find(CertifiedRun("run", tmp_path / "run"))
    assert reason == "a tree or forest was certified on features, not on images"


def test_data_that_is_larger_than_memory_should_be_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_images(tmp_path / "images.npz", shape=(3, 20, 20))
    run = make_run(tmp_path, source)
    size = os.path.getsize(tmp_path / "images.npz")
    monkeypatch.setattr(module, "_MOST_BYTES", size // 2)
    assert "the service reads at most" in str(RunDataCache().find(run))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"uri": "bad\0name.npz"}, "source.json names data that cannot be loaded: "),
        ({"uri": "\ud800.npz"}, "source.json names data that cannot be loaded: "),
        ({"uri": "new\nline.npz"}, r"new\nline.npz does not exist"),
        ({"uri": "/dev/null"}, "null is neither a file nor a folder"),
        ({"shuffle": 10**40}, "source.json names data that cannot be loaded: "),
        ({"k": "many"}, "source.json is damaged: k is 'many'"),
        ({"more": "x" * 2**16}, "source.json has more than 65,536 bytes"),
    ],
)
def test_what_is_wrong_with_a_source_is_one_line_that_names_the_file(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    run = make_run(tmp_path, write_images(tmp_path / "images.npz"))
    description = tmp_path / "run" / "source.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | change))
    found = RunDataCache().find(run)
    assert isinstance(found, str)
    assert found.startswith(reason)
    assert found.isprintable()


def test_a_source_that_never_ends_is_not_read(tmp_path: Path) -> None:
    run = make_run(tmp_path, None)
    os.mkfifo(tmp_path / "run" / "source.json")
    assert "its folder has no source.json" in str(RunDataCache().find(run))
