"""The root command ``ellzero``."""

import os
import sys
from importlib import import_module

import click

from ellzero.cli.groups import CommandGroup
from ellzero.cli.registry import COMMANDS, CommandEntry
from ellzero.core import __version__
from ellzero.core.errors import MissingExtra
from ellzero.core.install_hint import install_hint


class LazyGroup(CommandGroup):
    """Commands that are imported when they are run, and listed without being imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = COMMANDS.get(name)
        return None if entry is None else _load(name, entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].summary) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, invoke_without_command=True)
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
        click.echo(f"ellzero: {error.strerror or error}", err=True)
        # What could not be written is still buffered, and Python would try, and complain, once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        click.echo("ellzero: interrupted", err=True)
        sys.exit(130)


def _load(name: str, entry: CommandEntry) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    try:
        command = getattr(import_module(module), attribute)
    except MissingExtra as missing:
        return _explain_missing(name, entry, missing.module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "ellzero":  # a defect, which nobody can install
            raise
        return _explain_missing(name, entry, missing.name)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a command")
    return command


def _explain_missing(name: str, entry: CommandEntry, module_name: str) -> click.Command:
    """A command that says what it needs, whatever its arguments are."""
    remedy = f": {install_hint(entry.extra)}" if entry.extra else ", which is not installed"

    def explain() -> None:
        raise click.ClickException(f"{name} needs the Python module {module_name}{remedy}")

    return click.Command(
        name,
        callback=explain,
        help=f"(not installed: needs {module_name})",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
