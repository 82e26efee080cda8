"""The commands ``ellzero reproduce …``, each in a file of this folder."""

import click

from ellzero.cli.groups import LazyGroup
from ellzero.cli.registry import REPRODUCE_COMMANDS


@click.group("reproduce", cls=LazyGroup, entries=REPRODUCE_COMMANDS, invoke_without_command=True)
@click.pass_context
def reproduce_group(ctx: click.Context) -> None:
    """Repeat the paper's experiments, each by one command, and set its figures beside ours.

    An experiment writes a folder with its configuration, log, environment, tables and plots, which `ellzero report`
    reads. The same command resumes one that was stopped or killed.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
