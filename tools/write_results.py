"""Fill the tables of docs/results.md and README.md from the recorded runs: `python tools/write_results.py`.

Below a line ``<!-- table: EXPERIMENT/TABLE -->``, up to ``<!-- end table -->``, stands that table of
docs/results/EXPERIMENT/results.json, and below ``<!-- run: EXPERIMENT -->``, up to ``<!-- end run -->``, the command,
the time it took, the machine, the date and the commit. Everything else on the page is written by hand.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ellzero.core.text import count_noun, format_seconds
from ellzero.experiments import ExperimentFolder, ExperimentResult

DOCS = Path(__file__).parents[1] / "docs"
PAGES, RUNS = (DOCS / "results.md", DOCS.parent / "README.md"), DOCS / "results"
BLOCK = re.compile(
    r"(?P<head><!-- (?P<kind>table|run): (?P<name>[^\n]+?) -->\n).*?(?P<end><!-- end (?P=kind) -->)", re.DOTALL
)


@click.command()
@click.option("--check", is_flag=True, help="Change nothing, and fail if a page is out of date.")
def main(check: bool) -> None:
    """Fill the tables of docs/results.md and README.md from the recorded runs."""
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = fill(before)
        if not check:
            page.write_text(after, encoding="utf-8")
        elif after != before:
            sys.exit(f"{page.name} is out of date: run python tools/write_results.py")


def fill(page: str) -> str:
    """The page with its tables and runs as they are recorded. Raises LookupError for one that is not."""
    return BLOCK.sub(lambda block: f"{block['head']}\n{WRITERS[block['kind']](block['name'])}\n{block['end']}", page)


def write_table(name: str) -> str:
    """A recorded table in Markdown, with its caption."""
    experiment, _, table = name.partition("/")
    return read_result(experiment).table(table).to_markdown()


def write_run(experiment: str) -> str:
    """How a recorded result came to be."""
    result, environments = read_result(experiment), ExperimentFolder(RUNS / experiment).environments()
    environment = environments[0]
    machine, commits = environment["machine"], list(dict.fromkeys(map(describe_commit, environments)))
    lines = [
        "<!-- not run: takes long, or needs data -->",
        f"    {result.command}",
        "",
        f"{format_seconds(result.seconds)} on {machine['cpu']}, {count_noun(machine['cores'], 'core')}, "
        f"{machine['memory_gib']:g} GiB, {machine['platform']}; Python {environment['python']}; {environment['date']}"
        f"; {', then '.join(commits)}"
        + (f"; resumed {count_noun(len(environments) - 1, 'time')}" if len(environments) > 1 else "")
        + f". [Log, environment and every digit](results/{experiment}/).",
        *(f"\n* {note}" if number == 0 else f"* {note}" for number, note in enumerate(result.notes)),
    ]
    return "\n".join(lines) + "\n"


def describe_commit(environment: dict[str, Any]) -> str:
    """The code that a run was of."""
    commit = environment["commit"]
    if commit is None:
        return f"ellzero {environment['ellzero']}"
    return f"commit `{commit['sha'][:10]}`" + (" with changes" if commit["changed"] else "")


def read_result(experiment: str) -> ExperimentResult:
    """A recorded result."""
    result = ExperimentFolder(RUNS / experiment).result() if (RUNS / experiment).is_dir() else None
    if result is None:
        raise LookupError(f"docs/results/{experiment} holds no finished experiment")
    return result


WRITERS: dict[str, Callable[[str], str]] = {"table": write_table, "run": write_run}

if __name__ == "__main__":
    main()
