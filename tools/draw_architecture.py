"""Draw docs/architecture.svg, the rooms and the imports between them, from the import graph: `make architecture`.

A box is a room with its modules and sub-packages. An arrow leads to a room that is imported; imports that a chain of
arrows already shows have none of their own. A room stands one row below the lowest room that imports it.
"""

from html import escape
from pathlib import Path

import grimp

# Each room with its column, which is chosen so that no arrow passes behind a box.
ROOMS = {
    "cli": 2,
    "precompute": 0,
    "serve": 1,
    "experiments": 2,
    "client": 4,
    "tables": 1,
    "smoothing": 2,
    "trees": 3,
    "audit": 2,
    "certificates": 1,
    "core": 2,
}
PICTURE = Path(__file__).parents[1] / "docs" / "architecture.svg"
WIDTH, COLUMNS, BOX, LINE, GAP = 1560, 5, 270, 17, 64


def main() -> None:
    PICTURE.write_text(draw(), encoding="utf-8")


def draw() -> str:
    """The picture: the same imports give the same text."""
    graph = grimp.build_graph(*(f"ellzero.{room}" for room in ROOMS), cache_dir=None)
    imports = {room: imported_rooms(graph, room) for room in ROOMS}
    texts = {room: contents(graph, room) for room in ROOMS}
    places, height = arrange(imports, texts)
    arrows = [arrow(places[room], places[other]) for room in ROOMS for other in sorted(direct(imports, room))]
    boxes = [box(room, places[room], texts[room]) for room in ROOMS]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#567"/></marker></defs>\n'
    )
    return head + "\n".join([*arrows, *boxes]) + "\n</svg>\n"


def imported_rooms(graph: grimp.ImportGraph, room: str) -> set[str]:
    """The other rooms that a room imports directly."""
    return {
        other
        for other in ROOMS
        if other != room
        and graph.direct_import_exists(importer=f"ellzero.{room}", imported=f"ellzero.{other}", as_packages=True)
    }


def direct(imports: dict[str, set[str]], room: str) -> set[str]:
    """What a room imports, without what it also reaches through another room: fewer arrows say the same."""
    reached = {far for near in imports[room] for far in reachable(imports, near)}
    return imports[room] - reached


def reachable(imports: dict[str, set[str]], room: str) -> set[str]:
    return imports[room].union(*(reachable(imports, other) for other in imports[room]))


def contents(graph: grimp.ImportGraph, room: str) -> list[str]:
    """The lines of a room's box: its modules, then a line for each sub-package."""
    children = sorted(graph.find_children(f"ellzero.{room}"))
    packages = [child for child in children if graph.find_children(child)]
    names = [name(child) for child in children if child not in packages]
    lines = wrap(", ".join(names))
    for package in packages:
        lines += wrap(f"{name(package)}/ " + ", ".join(sorted(map(name, graph.find_children(package)))))
    return lines


def name(module: str) -> str:
    return module.rpartition(".")[2]


def wrap(text: str, width: int = 41) -> list[str]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def arrange(imports: dict[str, set[str]], texts: dict[str, list[str]]) -> tuple[dict[str, tuple[int, int, int]], int]:
    """(left, top, height) of every box, and the height of the picture."""

    def row(room: str) -> int:
        return max((row(other) + 1 for other in ROOMS if room in imports[other]), default=0)

    places: dict[str, tuple[int, int, int]] = {}
    top, space = 20, (WIDTH - COLUMNS * BOX) // (COLUMNS + 1)
    for number in range(max(map(row, ROOMS)) + 1):
        rooms = [room for room in ROOMS if row(room) == number]
        heights = {room: 40 + LINE * len(texts[room]) for room in rooms}
        for room in rooms:
            places[room] = (space + ROOMS[room] * (BOX + space), top, heights[room])
        top += max(heights.values()) + GAP
    return places, top - GAP + 20


def arrow(start: tuple[int, int, int], end: tuple[int, int, int]) -> str:
    x1, y1, x2, y2 = start[0] + BOX // 2, start[1] + start[2], end[0] + BOX // 2, end[1]
    bend = y2 - GAP // 2  # straight down to the row of the target first, so that the curve passes no box
    path = f"M{x1},{y1} V{y2 - GAP} C{x1},{bend} {x2},{bend} {x2},{y2}"
    return f'<path d="{path}" fill="none" stroke="#567" stroke-width="1.5" marker-end="url(#tip)"/>'


def box(room: str, place: tuple[int, int, int], lines: list[str]) -> str:
    left, top, height = place
    shape = f'<rect x="{left}" y="{top}" width="{BOX}" height="{height}" rx="6" fill="#eef3f8" stroke="#345"/>'
    title = f'<text x="{left + 12}" y="{top + 22}" font-size="15" font-weight="bold" fill="#123">{room}</text>'
    rows = [
        f'<text x="{left + 12}" y="{top + 42 + LINE * number}" font-size="11.5" fill="#234">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return "\n".join([shape, title, *rows])


if __name__ == "__main__":
    main()
