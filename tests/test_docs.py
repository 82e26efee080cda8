"""Every snippet of README and docs runs as pasted, and gives what its comment says.

A document is one session: its shell and Python blocks run in their order in one empty folder. Shell is what stands in a
```sh block, or in an indented block and begins with a program that readers have. A block below a line
``<!-- not run: reason -->`` is left out, as are the commands of `NOT_RUN`. Services run on a free
port in place of 8000. What follows ``# →`` behind a command is its last line of output, and a picture that it draws is
the one of that name beside the document.
"""

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import Ellzero, Run

from ellzero.certificates import Family
from ellzero.certificates.families.registry import FAMILIES

REPOSITORY = Path(__file__).parents[1]
DOCUMENTS = sorted(
    path.relative_to(REPOSITORY).as_posix()
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/families/*.md", "*/README.md")
    for path in REPOSITORY.glob(pattern)
)
ADDRESS = "http://127.0.0.1:8000"
QUICK = re.compile(r"ellzero ((?:thresholds|radius|plan|plot) [^|&;<>$*#]+)(?:#.*)?$")
"""Commands without a shell's features that keep nothing: run in this process, since starting one takes longer."""
PROGRAM = re.compile(r"([A-Z_]+=\S+ )*(ellzero|curl|make|pip|docker|export|python|\.venv/bin/\S+) ")
NOT_RUN = {
    r"make |\.venv/bin/": "CI runs `make run`, `make test` and `make lint`; the others take minutes",
    r"pip install": "installs into the reader's environment; test_install_hint.py tries it",
    r".*docker ": "needs a Docker engine; tests/docker runs the files' instructions without one",
    r".*s3://": "needs a bucket; tests/tables and tests/smoothing use an S3 server on loopback",
    r".*(head:|jobs |nightly)": "needs a Ray cluster; tests/precompute/jobs starts one",
    r".*mnist(?! --quick)": "needs the files of MNIST",
    r".*imagenet": "needs the images of ImageNet",
    r".*--method paper": "the paper's algorithm, minutes at ImageNet size",
    r".*…": "abbreviated",
}


@dataclass(frozen=True)
class Snippet:
    line: int
    language: str
    text: str


def snippets(document: str) -> Iterator[Snippet]:
    """The snippets of a document that are run; a shell snippet is one command."""
    lines = (REPOSITORY / document).read_text(encoding="utf-8").splitlines()
    language, start, block, left_out = "", 0, list[str](), False
    for number, line in enumerate(lines, 1):
        fence = re.match(r"```(\w*)$", line)
        if fence and not language:
            language, start, block = fence[1] or "text", number + 1, []
        elif fence:
            if not left_out:
                yield from [Snippet(start, language, "\n".join(block))] if language == "python" else ()
                yield from commands(start, block) if language == "sh" else ()
            language, left_out = "", False
        elif language:
            block.append(line)
        elif re.match(r"<!-- not run: .+ -->$", line):
            left_out = True
        elif line.startswith("    ") and PROGRAM.match(line[4:]) and not left_out:
            yield from commands(number, [line[4:]])
        elif line and not line.startswith("    "):
            left_out = False


def commands(start: int, block: list[str]) -> Iterator[Snippet]:
    joined = "\n".join(block).replace("\\\n", " " * 2)
    for number, command in enumerate(joined.splitlines(), start):
        if command and not command.startswith("#"):
            yield Snippet(number, "sh", command)


def reason_not_to_run(command: str) -> str | None:
    return next((reason for pattern, reason in NOT_RUN.items() if re.match(pattern, command)), None)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process, address = start("ellzero serve", tmp_path_factory.mktemp("service"))
    yield address
    stop(process)


def start(command: str, folder: Path) -> tuple["subprocess.Popen[str]", str]:
    """A service by its command, on a free port, and the address that it prints once it is ready."""
    words = [*shlex.split(command, comments=True), "--port", "0"]
    process = subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    address = re.search(r"http://\S+", process.stderr.readline())
    assert address is not None, command
    return process, address[0]


def stop(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate()


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ELLZERO_SERVE_LOG_LEVEL": "error",
    }


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if list(snippets(name))])
def test_every_snippet_runs_as_pasted(
    document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str, ellzero: Ellzero
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    for snippet in snippets(document):
        place = f"{document}:{snippet.line}"
        text = snippet.text.replace(ADDRESS, service)
        if snippet.language == "python":
            run_python(text, place, namespace)
        elif text.startswith("ellzero serve") and not reason_not_to_run(snippet.text) and "--new-key" not in text:
            stop(start(text, tmp_path)[0])
        elif not reason_not_to_run(snippet.text):
            quick = QUICK.match(text)
            run = ellzero(quick[1]) if quick else run_shell(text, tmp_path)
            assert run.code == 0, f"{place}: {text}\n{run.out}{run.err}"
            check_output(text, run.out, place)
            check_picture(text, tmp_path, (REPOSITORY / document).parent, place)


def run_shell(command: str, folder: Path) -> Run:
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    return Run(done.returncode, done.stdout, done.stderr)


def check_output(command: str, out: str, place: str) -> None:
    """What stands behind an arrow is the last line."""
    _, arrow, expected = command.partition("  # → ")
    assert not arrow or out.splitlines()[-1] == expected, f"{place}: {out}"


def check_picture(command: str, folder: Path, documents: Path, place: str) -> None:
    """A picture beside a document is what its command draws now."""
    for name in re.findall(r"--out (\S+\.svg)", command):
        if (documents / name).exists():
            (words, places), (published_words, published_places) = map(read_svg, (folder / name, documents / name))
            assert words == published_words, f"{place}: draw {name} again"
            # Another version of matplotlib may leave other margins.
            assert places == pytest.approx(published_places, abs=3), f"{place}: draw {name} again"


def read_svg(picture: Path) -> tuple[list[str], list[float]]:
    """The texts of an SVG and the commands of its paths, and the coordinates of these, in points."""
    drawn = re.findall(r">([^<>]+)</text>| d=\"([^\"]+)\"", picture.read_text(encoding="utf-8"))
    numbers = [float(number) for _, path in drawn for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", path)]
    return [text or re.sub(r"[^A-Z]", "", path) for text, path in drawn], numbers


def run_python(source: str, place: str, namespace: dict[str, Any]) -> None:
    """Run a block; an expression followed by a comment that begins with a value must have that value."""
    comments = {
        number: line.rpartition("  # ")[2].partition(";")[0]
        for number, line in enumerate(source.splitlines(), 1)
        if "  # " in line
    }

    def check(line: int, value: object) -> None:
        try:
            expected = eval(comments[line], namespace)
        except (SyntaxError, NameError):
            return  # words
        assert value == expected, f"{place}, line {line} of the block: {value!r}"

    class Checked(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.Expr:
            if node.end_lineno in comments:
                call = ast.Call(ast.Name("_check", ast.Load()), [ast.Constant(node.end_lineno), node.value], [])
                node = ast.copy_location(ast.Expr(call), node)
            return node

    tree = ast.fix_missing_locations(Checked().visit(ast.parse(source)))
    namespace |= {"_check": check, "Decimal": Decimal}
    exec(compile(tree, place, "exec"), namespace)


def test_every_reason_not_to_run_a_snippet_is_still_needed() -> None:
    left_out = {
        pattern: command.text
        for name in DOCUMENTS
        for command in snippets(name)
        if command.language == "sh"
        for pattern in NOT_RUN
        if re.match(pattern, command.text)
    }
    assert set(left_out) == set(NOT_RUN)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: str(family.__name__))
def test_every_family_has_a_page_that_the_overview_links(family: type[Family]) -> None:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", family.__name__).lower()
    title, *_ = (REPOSITORY / f"docs/families/{name}.md").read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# .+: `{family.__name__}\(", title)
    assert f"](families/{name}.md)" in (REPOSITORY / "docs/families.md").read_text(encoding="utf-8")


def test_every_make_target_in_the_docs_exists() -> None:
    targets = set(re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    for name in DOCUMENTS:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|^|    )make ([a-z-]+)", text, re.MULTILINE)) <= targets, name


def test_every_link_to_a_file_leads_somewhere() -> None:
    for name in DOCUMENTS:
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert ((REPOSITORY / name).parent / target).exists(), f"{name}: {target}"


def test_the_citation_names_software_and_paper() -> None:
    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation), "what the format requires"
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{citation["version"]}"' in project
    assert f'license = "{citation["license"]}"' in project
    [paper] = citation["references"]
    title = "Tight Certificates of Adversarial Robustness for Randomly Smoothed Classifiers"
    assert paper["title"] == title
    assert [author["family-names"] for author in paper["authors"]] == ["Lee", "Yuan", "Chang", "Jaakkola"]
    assert title in (REPOSITORY / "README.md").read_text(encoding="utf-8")
