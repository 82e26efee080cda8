"""The root command ``ellzero``. It knows no other part: each announces its commands as entry points."""

import os
import sys
from importlib.metadata import EntryPoint, entry_points, version

import click

_GROUP = "ellzero.commands"


class InstalledCommands(click.Group):
    """Sub-commands from the installed parts, imported only when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_entries())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = _entries().get(name)
        if entry is None:
            return None
        try:
            command = entry.load()
        except ModuleNotFoundError as missing:
            return _unavailable(entry, missing.name or str(missing))
        if not isinstance(command, click.Command):
            raise TypeError(f"the entry point {entry.value} is not a command")
        return command


@click.group(cls=InstalledCommands, invoke_without_command=True)
@click.version_option(version("ellzero"), prog_name="ellzero")
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


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUP)}


def _unavailable(entry: EntryPoint, module: str) -> click.Command:
    """A command that says what it needs, whatever it is given. Entry points name the extra that brings it."""
    remedy = f": pip install 'ellzero[{','.join(entry.extras)}]'" if entry.extras else ", which is not installed"

    def explain() -> None:
        raise click.ClickException(f"{entry.name} needs the Python module {module}{remedy}")

    return click.Command(
        entry.name,
        callback=explain,
        help=f"(not installed: needs {module})",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
