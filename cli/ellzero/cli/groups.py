"""Groups of commands, which answer a misspelt name with the nearest one."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from ellzero.cli.registry import CommandEntry
from ellzero.core.errors import MissingExtra
from ellzero.core.install_hint import install_hint


class CommandGroup(click.Group):
    """A group whose message for an unknown command names the nearest one, or all that there are.

    ``replacements`` are commands that have moved, each with the command line that does its work now.
    """

    def __init__(self, *arguments: Any, replacements: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.replacements = replacements or {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, names = args[0], self.list_commands(ctx)
        if name in names or name.startswith("-"):
            return super().resolve_command(ctx, args)
        if name in self.replacements:
            hint = f"Use `{self.replacements[name]}`."
        else:
            nearest = get_close_matches(name, names, 1)
            hint = f"Did you mean {nearest[0]}?" if nearest else f"There are {', '.join(names)}."
        raise click.UsageError(f"no command {name!r}. {hint}", ctx)


class LazyGroup(CommandGroup):
    """Commands that are imported when they are run, and listed without being imported."""

    def __init__(self, *arguments: Any, entries: Mapping[str, CommandEntry], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.entries = entries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(self.entries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        entry = self.entries.get(name)
        if entry is None:
            return None
        return _load(name, entry, name if ctx.parent is None else f"{ctx.info_name} {name}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.entries[name].summary) for name in self.list_commands(ctx)])


def _load(name: str, entry: CommandEntry, shown: str) -> click.Command:
    module, _, attribute = entry.target.partition(":")
    try:
        command = getattr(import_module(module), attribute)
    except MissingExtra as missing:
        return _explain_missing(name, entry, shown, missing.module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "ellzero":  # a defect, which nobody can install
            raise
        return _explain_missing(name, entry, shown, missing.name)
    if not isinstance(command, click.Command):
        raise TypeError(f"{entry.target} is not a command")
    return command


def _explain_missing(name: str, entry: CommandEntry, shown: str, module_name: str) -> click.Command:
    """A command that says what it needs, whatever its arguments are."""
    remedy = f": {install_hint(entry.extra)}" if entry.extra else ", which is not installed"

    def explain() -> None:
        raise click.ClickException(f"{shown} needs the Python module {module_name}{remedy}")

    return click.Command(
        name,
        callback=explain,
        help=f"(not installed: needs {module_name})",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
