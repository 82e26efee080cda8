"""Groups of commands, which answer a misspelt name with the nearest one."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import click


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
