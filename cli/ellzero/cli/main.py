"""The root command ``ellzero``."""

import os
import sys

import click

from ellzero.cli.groups import LazyGroup
from ellzero.cli.registry import COMMANDS
from ellzero.core import __version__


@click.group(cls=LazyGroup, entries=COMMANDS, invoke_without_command=True)
@click.version_option(__version__, prog_name="ellzero")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Exact certificates of ℓ0 robustness for randomly smoothed classifiers."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line. A user's mistake is one line on standard error and exit code 2."""
    try:
        cli.main(prog_name="ellzero", standalone_mode=False)
    except click.ClickException as error:
        click.echo(f"ellzero: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, say; click has seen to closed pipes
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        click.echo(f"ellzero: {place}{error.strerror or error}", err=True)
        # What could not be written is still buffered, and Python would try, and complain, once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ellzero: interrupted", err=True)
        sys.exit(130)
