"""The command ``ellzero plot``."""

from pathlib import Path

import click

from ellzero.certificates.exact_thresholds import column, column_end
from ellzero.certificates.families.base import Family
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.plots import plot_budgets, plot_thresholds
from ellzero.cli.certificate_options import DIMENSION, RADIUS, K
from ellzero.cli.family_options import BudgetRanges, family_options, read_budget
from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command
from ellzero.cli.thresholds import column_seconds
from ellzero.core.progress import announce, track


@click.group("plot", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def plot_group(ctx: click.Context) -> None:
    """Draw figures as PNG, SVG or PDF."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@plot_group.command("thresholds", cls=Command)
@click.option("--k", type=K, required=True, help="Number of categories minus one.")
@click.option("--alpha", required=True, help="Probabilities of staying, such as 0.1,0.2,0.5.")
@click.option("--r-max", type=RADIUS, default=20, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("thresholds.png"), show_default=True)
def plot_thresholds_command(k: int, alpha: str, r_max: int, out: Path) -> None:
    """Draw the thresholds against the radius, a line for each α."""
    noises = [Discrete(k, value) for value in alpha.split(",")]
    seconds = sum(column_seconds(column_end(noise, r_max, 20)) for noise in noises)
    announce(f"{len(noises)} columns", seconds)
    columns = [column(noise, r_max) for noise in track(noises, len(noises), "columns", seconds)]
    plot_thresholds(columns, out)
    click.echo(out)


@plot_group.command("budgets", cls=Command)
@family_options
@click.option(
    "--limits",
    type=BudgetRanges(),
    required=True,
    help="How far to draw one or two kinds of change: add=10,delete=30; a number where there is one kind.",
)
@click.option("--p", default="0.9,0.99,0.999", show_default=True, help="Probabilities, an edge for each.")
@click.option("--d", type=DIMENSION, help="Number of coordinates, which ablation needs.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("budgets.png"), show_default=True)
def plot_budgets_command(family: Family, limits: dict[str, tuple[int, int]], p: str, d: int | None, out: Path) -> None:
    """Draw which budgets of changes a probability certifies, for any family of noises."""
    plot_budgets(family, read_budget(family, limits, "--limits"), p.split(","), out)
    click.echo(out)
