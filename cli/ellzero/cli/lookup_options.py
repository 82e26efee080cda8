"""Options of commands that may ask a table or a service in place of computing."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ellzero.core.errors import MissingExtra
from ellzero.core.progress import notify
from ellzero.core.schemas import Source

if TYPE_CHECKING:
    from ellzero.client import Client
    from ellzero.tables import LocalClient

_API_KEY = "ELLZERO_API_KEY"
_BUNDLED = "bundled"
_OPTIONS = {"base_url": "--server", "api_key": _API_KEY}


def lookup_options(variable: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """--table and --server, which the environment variable may give."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        for option in (
            click.option("--server", envvar=variable, metavar="URL", help="A service to ask instead of computing."),
            click.option(
                "--table", metavar="URI", help="A table to look it up in; `bundled` is the one that ships with ellzero."
            ),
        ):
            command = option(command)
        return command

    return add


@contextmanager
def open_lookup(table: str | None, server: str | None) -> Iterator["Client | LocalClient"]:
    """What answers from a table or from a service: the two have the same methods. Errors name the options.

    An API key is taken from the environment only: others can read the command lines of a machine.
    """
    if table is not None:
        with _need_extra("--table", "tables"):
            from ellzero.tables import LocalClient

            client = LocalClient(None if table == _BUNDLED else table)
        yield client
        return
    with _need_extra("--server", "client"):
        from ellzero.client import Client, RejectedInput, UnsendableValue
    try:
        with Client(str(server), api_key=os.environ.get(_API_KEY) or None) as remote:
            yield remote
    except RejectedInput as error:
        raise click.UsageError(_with_option(error.detail, error.field)) from error
    except UnsendableValue as error:
        raise click.UsageError(_with_option(str(error), error.field)) from error


def notify_computed(table: str | None, source: Source) -> None:
    """Say so if a table did not have all that an answer needs."""
    if table is not None and source == Source.COMPUTED:
        notify("the table does not reach that far; the rest was computed")


def check_lookup(table: str | None, server: str | None) -> bool:
    """Whether a table or a service is to answer; not both."""
    if table is not None and server is not None:
        raise click.UsageError("give either --table or --server, not both")
    return table is not None or server is not None


@contextmanager
def _need_extra(option: str, extra: str) -> Iterator[None]:
    try:
        yield
    except (MissingExtra, ModuleNotFoundError) as missing:
        raise MissingExtra(option, extra) from missing


def _with_option(message: str, field: str | None) -> str:
    """The message, in which the field is named as on the command line."""
    if field is None:
        return message
    return message.replace(field, _OPTIONS.get(field, f"--{field.replace('_', '-')}"), 1)
