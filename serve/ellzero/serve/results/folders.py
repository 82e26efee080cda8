"""Finding the results folders of a service, and seeing that one of them has changed."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ellzero.core.cancellation import check_cancelled
from ellzero.core.part_store import RUN_MANIFEST
from ellzero.core.text import escape_line

Signature: TypeAlias = tuple[tuple[str, int, int], ...]
"""The files of a folder, by name, size and time."""

_MOST_DEPTH = 6  # below the folder of the settings
_MOST_FOUND = 500
_MOST_VISITED = 20_000
_MOST_CHARACTERS = 2_000  # of a name


@dataclass(frozen=True)
class FoundFolders:
    """Results folders by name. ``complete`` is false if there may be more of them."""

    paths: dict[str, Path]
    complete: bool


def find_folders(root: Path) -> FoundFolders:
    """Find the folders with a run.json, in ``root`` and below it. Links are not followed, hidden folders left out.

    A folder's name is its path from ``root``; if ``root`` is a results folder itself, names begin with its own.
    """
    paths: dict[str, Path] = {}
    start = root.parent if is_results_folder(root) else root
    for visited, folder in enumerate(_walk(root, _MOST_DEPTH)):
        check_cancelled()
        if visited >= _MOST_VISITED or len(paths) >= _MOST_FOUND:
            return FoundFolders(paths, complete=False)
        if is_results_folder(folder):
            paths[escape_line(folder.relative_to(start).as_posix(), _MOST_CHARACTERS)] = folder
    return FoundFolders(paths, complete=True)


def is_results_folder(folder: Path) -> bool:
    """Return whether a folder says that it holds results."""
    return (folder / RUN_MANIFEST).is_file()


def sign_folder(folder: Path) -> Signature:
    """Return what changes with any file in the folder. OSError if it cannot be read."""
    with os.scandir(folder) as entries:
        return tuple(sorted((entry.name, *_stat(entry)) for entry in entries if entry.is_file()))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """The folder and those below it, in the order of their names; folders that cannot be read are left out."""
    yield folder
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in inside:
        if depth and not name.startswith("."):
            yield from _walk(folder / name, depth - 1)


def _stat(entry: "os.DirEntry[str]") -> tuple[int, int]:
    stat = entry.stat()
    return stat.st_size, stat.st_mtime_ns
