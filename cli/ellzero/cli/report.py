"""The command ``ellzero report``."""

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from ellzero.cli.parameters import Command, IntegerRange
from ellzero.core.errors import BadResults, MissingExtra
from ellzero.core.part_store import PartStore
from ellzero.core.progress import notify
from ellzero.core.text import count_noun, format_seconds
from ellzero.experiments.folder import MANIFEST, ExperimentFolder, find_runs
from ellzero.smoothing.noise.registry import describe_noise
from ellzero.smoothing.runs.metrics import Outcome, Report, summarize
from ellzero.smoothing.runs.plots import plot_reports
from ellzero.smoothing.runs.result_store import ResultStore
from ellzero.trees.result_schema import KIND, SCHEMA


@click.command("report", cls=Command)
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--plot",
    "figure",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw the curves to this file: .png, .svg or .pdf.",
)
@click.option(
    "--r-max",
    type=IntegerRange(0, 10_000),
    help="List ACC@r up to this radius; by default up to the largest certified one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def report_command(results: tuple[str, ...], figure: Path | None, r_max: int | None, as_json: bool) -> None:
    """Print the mean certified radius μ(R) and ACC@r of RESULTS, and draw them.

    Several RESULTS are compared in one figure. Without --plot the figure of one local folder is written to curves.svg
    in that folder, and that of several RESULTS to curves.svg in the current directory.

    Of a folder of `ellzero reproduce` it prints the tables, and names the plots and the certificates in it.
    """
    reports: dict[str, Report] = {}
    for uri in results:
        if _is_experiment(uri):
            _report_experiment(ExperimentFolder(uri), as_json)
            continue
        manifest = ResultStore(uri).manifest()
        if manifest is None:
            raise BadResults(uri, "holds no results of ellzero")
        if not _holds_certificates(manifest):
            raise BadResults(uri, f"holds results of another kind than certificates of a data set: {manifest['kind']}")
        by_votes = manifest.get("kind") != KIND
        table = (ResultStore(uri) if by_votes else PartStore(uri, SCHEMA)).table()
        columns = (table[name].to_pylist() for name in ("label", "prediction", "radius"))
        report = summarize([Outcome(*row) for row in zip(*columns, strict=True)], r_max)
        reports[uri] = report
        drawn = sum(table["drawn"].to_pylist()) / (len(table) * manifest["n"]) if by_votes else None
        if as_json:
            votes = {"votes_drawn": drawn} if by_votes else {}
            click.echo(json.dumps({"results": uri, "run": manifest, **votes, **asdict(report)}))
        else:
            _print_report(uri, manifest, report, drawn, table["d"].to_pylist())
    if not reports:
        if figure is not None:
            raise click.UsageError("--plot draws certificates of data sets, and an experiment has its own figures")
        if r_max is not None:
            raise click.UsageError("--r-max is for certificates of data sets, and an experiment has its own tables")
        return
    target = figure or _default_figure(list(reports))
    if target is None:
        return
    try:
        plot_reports(reports, target)
        notify(f"curves written to {target}")
    except MissingExtra as missing:
        if figure is not None:
            raise
        notify(str(missing))


def _is_experiment(uri: str) -> bool:
    return os.path.isfile(os.path.join(uri, MANIFEST))


def _report_experiment(folder: ExperimentFolder, as_json: bool) -> None:
    description, result = folder.describe(), folder.result()
    if description is None or result is None:
        name = "experiment" if description is None else description.name
        raise BadResults(str(folder.path), f"holds an unfinished {name}; the command that began it resumes it")
    environments = folder.environments()
    if not environments:
        raise BadResults(str(folder.path), "has no environment.json of its runs")
    environment = environments[-1]
    if as_json:
        click.echo(json.dumps({"results": str(folder.path), **result.to_json(), "environment": environment}))
        return
    machine = environment["machine"]
    click.echo(f"{folder.path}: {result.command}")
    click.echo(
        f"{format_seconds(result.seconds)} on {machine['cpu']}, {count_noun(machine['cores'], 'core')}; "
        f"ellzero {environment['ellzero']}, {environment['date']}\n"
    )
    for line in result.describe():
        click.echo(line)
    for plot in result.plots:
        click.echo(f"figure: {folder.path / plot}")
    for run in find_runs(folder.path):
        manifest = ResultStore(str(run)).manifest() or {}
        if _holds_certificates(manifest):
            click.echo(
                f"{'certificates' if 'certificate' not in manifest else 'no certificates'}: ellzero report {run}"
            )


def _holds_certificates(manifest: Mapping[str, Any]) -> bool:
    """Whether a folder has a certificate of each input, or what is listed like one, rather than another result."""
    return manifest.get("kind") in (None, KIND)


def _default_figure(results: Sequence[str]) -> Path | None:
    """None for a single result that is not a local folder."""
    if len(results) > 1:
        return Path("curves.svg")
    return Path(results[0]) / "curves.svg" if os.path.isdir(results[0]) else None


def _print_report(uri: str, run: dict[str, Any], report: Report, drawn: float | None, units: list[int]) -> None:
    model, data = run["model"], run["data"]
    part = f"{data['part']} of the {data['split']} split" if "part" in data else data["split"]
    click.echo(f"{uri}: {model['name']} ({model['architecture']}) on {data['name']}, {part}")
    votes = "exact" if drawn is None else f"failure {run['failure']}, n = {run['n']:,}, {drawn:.0%} drawn"
    few, many = min(units), max(units)  # inputs may be of different lengths
    d = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    click.echo(f"{describe_noise(run['noise'])}, d = {d}; {votes}")
    if "certificate" in run:
        click.echo(f"certificates: {run['certificate']}")
    if "top_k" in run:
        click.echo(f"certified to remain among the {run['top_k']} most probable classes")
    click.echo(f"inputs {report.inputs:,}, abstained {report.abstained:,}, wrong {report.wrong:,}")
    click.echo(
        f"μ(R)   {_format_mean(report.mean_radius, report.mean_radius_error)}   median {report.median_radius:g}   "
        "(wrong and abstained count 0)"
    )
    for each in report.accuracy:
        bar = "█" * round(40 * each.share)
        interval = f"{_round_percent(each.low, math.floor)} – {_round_percent(each.high, math.ceil)}"
        click.echo(f"ACC@{each.r:<3d}{each.share:7.1%}  ({interval})  {bar}")


def _format_mean(mean: float, error: float) -> str:
    """A mean and half of its interval, so wide that it has the whole interval around the rounded mean."""
    if not math.isfinite(error):
        return f"{mean:.3f} ± {error}"
    shown = Fraction(f"{mean:.3f}")
    half = math.ceil((Fraction(error) + abs(Fraction(mean) - shown)) * 1000)
    return f"{mean:.3f} ± {half // 1000}.{half % 1000:03d}"


def _round_percent(share: float, rounding: Callable[[Fraction], int]) -> str:
    """A share in percent to one digit, rounded so that the printed interval contains the computed one."""
    return f"{rounding(Fraction(share) * 1000) / 10:5.1f}%"
