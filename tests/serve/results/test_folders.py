"""Results folders are found by their names, and nothing outside of the service's folder is."""

import os
from pathlib import Path

from serve.results_folders import certified, write_results

from ellzero.serve.results.folders import find_folders, sign_folder


def test_folders_are_found_at_any_depth_and_named_by_their_paths(tmp_path: Path) -> None:
    for name in ("b", "a/one", "a/two", "a/two/below", ".hidden", "1/2/3/4/5/6", "1/2/3/4/5/6/7"):
        write_results(tmp_path / name, [])
    (tmp_path / "no results").mkdir()
    found = find_folders(tmp_path)
    assert found.complete
    assert found.paths == {name: tmp_path / name for name in ("1/2/3/4/5/6", "a/one", "a/two", "a/two/below", "b")}


def test_a_results_folder_itself_has_its_own_name(tmp_path: Path) -> None:
    write_results(tmp_path / "run", [])
    write_results(tmp_path / "run" / "run", [])
    assert set(find_folders(tmp_path / "run").paths) == {"run", "run/run"}


def test_links_are_not_followed(tmp_path: Path) -> None:
    write_results(tmp_path / "outside", [])
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert find_folders(tmp_path / "inside").paths == {}


def test_any_name_of_a_folder_can_be_written_as_json(tmp_path: Path) -> None:
    for name in (b"caf\xc3\xa9", b"not utf-8: \xff", b"line\nbreak"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)) / "run.json").touch()
    assert set(find_folders(tmp_path).paths) == {"café", "not utf-8: \\udcff", "line\\nbreak"}


def test_too_many_folders_are_cut_and_said_to_be(tmp_path: Path) -> None:
    for number in range(501):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "run.json").touch()
    found = find_folders(tmp_path)
    assert len(found.paths) == 500
    assert not found.complete


def test_the_signature_changes_with_any_file(tmp_path: Path) -> None:
    store = write_results(tmp_path, [(0, certified(0, 1))])
    signatures = [sign_folder(tmp_path)]
    store.write([(1, 0, certified(0, 1))])
    signatures.append(sign_folder(tmp_path))
    part = min(tmp_path.glob("part-*"))
    part.write_bytes(part.read_bytes()[:-1])
    signatures.append(sign_folder(tmp_path))
    part.unlink()
    signatures.append(sign_folder(tmp_path))
    assert len(set(signatures)) == 4
    assert sign_folder(tmp_path) == signatures[-1]
