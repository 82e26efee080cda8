"""The command ``ellzero plot``."""

from pathlib import Path

import click

from ellzero.certificates.budget_thresholds import thresholds
from ellzero.certificates.families.base import Family
from ellzero.certificates.plots import plot_budgets, plot_thresholds
from ellzero.cli.certificate_options import DIMENSION
from ellzero.cli.family_certificates import announce_certifying
from ellzero.cli.family_options import BudgetRanges, families_options, family_options, read_budget
from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import MOST_RADII, Command, IntegerRange
from ellzero.cli.thresholds import column_seconds
from ellzero.core.numbers import read_probability
from ellzero.core.progress import announce, track


@click.group("plot", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def plot_group(ctx: click.Context) -> None:
    """Draw figures as PNG, SVG or PDF."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@plot_group.command("thresholds", cls=Command)
@families_options
@click.option("--d", type=DIMENSION, help="Number of coordinates, which ablation needs.")
@click.option("--r-max", type=IntegerRange(0, MOST_RADII), default=20, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path("thresholds.png"), show_default=True)
def plot_thresholds_command(families: list[Family], d: int | None, r_max: int, out: Path) -> None:
    """Draw the thresholds against the radius, a line for each of the values in lists such as --alpha 0.1,0.2.

    For families with one kind of change; `plot budgets` draws the others.
    """
    for family in families:
        if len(family.axes) > 1:
            raise click.UsageError(f"{family} has several kinds of change, which `plot budgets` draws")
    seconds = len(families) * column_seconds(r_max)
    announce(f"{len(families)} columns", seconds)
    tracked = track(families, len(families), "columns", seconds)
    plot_thresholds({family: thresholds(family, _list_radii(family, r_max)) for family in tracked}, out)
    click.echo(out)


def _list_radii(family: Family, r_max: int) -> range:
    """0..r_max, as far as so many changes are possible."""
    (most,) = family.most
    return range((r_max if most is None else min(r_max, most)) + 1)


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
    most = read_budget(family, limits, "--limits")
    announce_certifying(family, most, [read_probability(each, "p") for each in p.split(",")])
    plot_budgets(family, most, p.split(","), out)
    click.echo(out)
