"""The command ``ellzero plot``."""

from pathlib import Path

import click

from ellzero.certificates.exact_thresholds import column, column_end
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.plots import plot_thresholds
from ellzero.cli.certificate_options import RADIUS, K
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
