"""The command ``serve``."""

import os
import shlex
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import orjson
import uvicorn
from pydantic import ValidationError
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from ellzero.cli.parameters import Command, IntegerParam
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.serve.platform.api_keys import new_key
from ellzero.serve.platform.logs import log_config
from ellzero.serve.platform.metrics import SHARED_DIRECTORY
from ellzero.serve.platform.protocol import WholeBodies
from ellzero.serve.settings import PREFIX, ServeSettings, can_vote
from ellzero.serve.voting.job_store import JobStore
from ellzero.tables import Table

_BACKLOG = 2_048
_APPLICATION = "ellzero.serve.app:create_app"


@click.command("serve", cls=Command)
@click.option("--tables", help="Path or URI of the table; by default the one that ships.")
@click.option("--models", help="Folder of models to vote with; a small one ships.")
@click.option("--host", help="Address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=IntegerParam(), help="Port to listen on; 8000 by default, 0 for any that is free.")
@click.option("--workers", type=IntegerParam(), help="Processes that serve; 1 by default.")
@click.option("--new-key", "name", metavar="NAME", help="Print a fresh API key and its setting, and do not serve.")
def serve_command(
    tables: str | None, models: str | None, host: str | None, port: Any, workers: Any, name: str | None
) -> None:
    """Serve certified radii over HTTP, and the page.

    Every setting is also an environment variable, such as ELLZERO_SERVE_PORT; options come first. SIGHUP loads the
    table anew, SIGTERM lets requests finish.
    """
    if name is not None:
        _print_new_key(name)
        return
    given = {"tables": tables, "models": models, "host": host, "port": port, "workers": workers}
    settings = _settings({key: value for key, value in given.items() if value is not None})
    if settings.tables is not None:
        Table.open(settings.tables)  # what is no table is told here, before anything is started
    _check_models(settings)
    listener = _listener(settings)
    bound = listener.getsockname()[1]
    # Workers are fresh processes that read their settings from the environment.
    os.environ |= {f"{PREFIX}{key.upper()}": str(value) for key, value in given.items() if value is not None}
    config = uvicorn.Config(
        _APPLICATION,
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http=WholeBodies,
        access_log=False,
        log_config=log_config(settings.log_format, settings.log_level),
        backlog=_BACKLOG,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=int(settings.request_timeout) + 1,
        server_header=False,
        proxy_headers=False,  # nothing here asks where a request came from
        ws="none",
    )
    host_shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    click.echo(f"ellzero: http://{host_shown}:{bound} (the API at /docs); Ctrl-C ends it", err=True)
    # uvicorn passes the signal that ended it on, once all is done: that is an end as it should be.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
        return
    with tempfile.TemporaryDirectory(prefix="ellzero-metrics-") as shared:
        os.environ[SHARED_DIRECTORY] = shared
        supervisor = Supervisor(config, sockets=[listener])
        supervisor.run()
        if supervisor.failed:
            sys.exit(STARTUP_FAILURE)


class Supervisor(Multiprocess):
    """Several workers. SIGHUP reaches each of them, as it does a single one, so that jobs under way go on."""

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)

    @property
    def failed(self) -> bool:
        """Whether it ended because a worker could not start."""
        return any(process.exitcode == STARTUP_FAILURE for process in self.processes)


def _settings(given: dict[str, Any]) -> ServeSettings:
    try:
        return ServeSettings(**given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = str(first["loc"][0])
        where = field if field in given else f"{PREFIX}{field.upper()}"
        raise InvalidInput(where, first["msg"][:1].lower() + first["msg"][1:], first["input"]) from None


def _check_models(settings: ServeSettings) -> None:
    """Say before anything is started that models cannot be served."""
    if settings.models is not None and not can_vote():
        raise MissingExtra("serving models", "predict")
    if settings.models is not None and not Path(settings.models).is_dir():
        raise InvalidInput("models", "a folder that is there", settings.models)
    if settings.jobs is not None:
        JobStore(settings.jobs)
    if settings.device != "auto" and can_vote():
        from ellzero.smoothing.models.devices import find_device

        find_device(settings.device)


def _listener(settings: ServeSettings) -> socket.socket:
    """A socket that listens, so that an address in use is told before the table is loaded."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)  # who asks too early waits, and is not refused
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise click.ClickException(f"cannot listen on {settings.host} port {settings.port}: {reason}") from None
    listener.set_inheritable(True)
    return listener


def _print_new_key(name: str) -> None:
    key, digest = new_key()
    click.echo(f"key for the caller, shown only now: {key}")
    setting = orjson.dumps({name: {"sha256": digest}}).decode()
    click.echo(f"setting: {PREFIX}API_KEYS={shlex.quote(setting)}")
