"""The tree is as docs/architecture.md and tests/README.md say."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
ROOMS = (
    "core",
    "certificates",
    "audit",
    "tables",
    "precompute",
    "smoothing",
    "trees",
    "experiments",
    "serve",
    "client",
    "cli",
)


def test_every_test_file_mirrors_a_module_or_is_listed_with_its_reason() -> None:
    listed = set(re.findall(r"^\| `([^`]+)` \| .+ \|$", (REPOSITORY / "tests" / "README.md").read_text(), re.MULTILINE))
    assert set(files_without_module()) == listed


def files_without_module() -> Iterator[str]:
    for room in ROOMS:
        for path in (REPOSITORY / "tests" / room).rglob("test_*.py"):
            inside = path.relative_to(REPOSITORY / "tests" / room)
            folder = REPOSITORY / room / "ellzero" / room / inside.parent
            name = inside.name.removeprefix("test_")
            if not (folder / name).exists() and not (folder / f"_{name}").exists():
                yield f"{room}/{inside.as_posix()}"


def test_no_room_imports_a_private_module_or_name_of_another() -> None:
    assert list(private_imports()) == []


def private_imports() -> Iterator[str]:
    for room in ROOMS:
        for path in (REPOSITORY / room / "ellzero" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                elif isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                else:
                    continue
                for name in names:
                    steps = name.split(".")
                    private = any(step.startswith("_") and not step.startswith("__") for step in steps)
                    if steps[0] == "ellzero" and steps[1:2] != [room] and private:
                        yield f"{path.relative_to(REPOSITORY)}: {name}"


def test_the_picture_of_the_rooms_is_up_to_date() -> None:
    code = "import draw_architecture; print(draw_architecture.draw(), end='')"
    drawn = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY / "tools", capture_output=True, text=True, check=True
    )
    assert drawn.stdout == (REPOSITORY / "docs" / "architecture.svg").read_text(encoding="utf-8"), (
        "run make architecture"
    )


def test_every_file_of_the_walks_exists() -> None:
    text = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = text[text.index("## Three walks") : text.index("## Decisions")]
    files = re.findall(r"^\d+\. `(\w+)/(\S+\.py)`", walks, re.MULTILINE)
    assert len(files) > 30
    assert [
        f"{room}/{file}" for room, file in files if not (REPOSITORY / room / "ellzero" / room / file).exists()
    ] == []


def test_every_section_of_the_mathematics_names_its_modules() -> None:
    headings = re.findall(r"^## .*\(`.*", (REPOSITORY / "docs" / "mathematics.md").read_text(), re.MULTILINE)
    names = {name.partition(".")[0] for heading in headings for name in re.findall(r"`([^`]+)`", heading)}
    room = REPOSITORY / "certificates" / "ellzero" / "certificates"
    modules = {path.stem for path in [*room.glob("*.py"), *(init.parent for init in room.glob("*/__init__.py"))]}
    assert len(names) >= 10
    assert names - modules == set()
