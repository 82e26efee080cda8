"""The command ``serve``."""

import os
import shlex
import signal
import socket
import sys
import tempfile
from pathlib import Path

import click
import orjson
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from ellzero.cli.parameters import Command
from ellzero.core.errors import InvalidInput, MissingExtra
from ellzero.serve.lookup.open_table import open_table
from ellzero.serve.platform.api_keys import make_key
from ellzero.serve.platform.logs import make_log_config
from ellzero.serve.platform.metrics import SHARED_DIRECTORY
from ellzero.serve.platform.protocol import ReadAheadProtocol
from ellzero.serve.results.registry import ResultsRegistry
from ellzero.serve.settings import (
    ServeSettings,
    can_certify_trees,
    can_vote,
    find_unknown_variables,
    read_settings,
    variable_name,
)
from ellzero.serve.voting.job_store import JobStore

_BACKLOG = 2_048
_APPLICATION = "ellzero.serve.app:create_app"


@click.command("serve", cls=Command)
@click.option("--tables", help="Path or URI of the table; by default the bundled one.")
@click.option("--models", help="Folder of models, beside the bundled demo-digits.")
@click.option("--results", help="Folder of results, as certify writes them, to show on the page.")
@click.option("--host", help="Address to listen on; 127.0.0.1 by default.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port to listen on; 8000 by default, 0 for any free one.")
@click.option("--workers", type=click.IntRange(1, 256), help="Worker processes; 1 by default.")
@click.option("--new-key", "name", metavar="NAME", help="Print a new API key and its setting, and exit.")
def serve_command(
    tables: str | None,
    models: str | None,
    results: str | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    name: str | None,
) -> None:
    """Serve certified radii over HTTP, and the page.

    Every setting is also an environment variable, such as ELLZERO_SERVE_PORT; options take precedence. SIGHUP reloads
    the table and the models; SIGTERM lets requests finish.
    """
    if name is not None:
        _print_new_key(name)
        return
    given = {"tables": tables, "models": models, "results": results, "host": host, "port": port, "workers": workers}
    settings = read_settings(**{key: value for key, value in given.items() if value is not None})
    _warn_of_unknown_variables()
    open_table(settings)  # a wrong table is reported here, before anything is started
    _check_models(settings)
    ResultsRegistry(settings.results).check()
    listener = _listener(settings)
    bound = listener.getsockname()[1]
    # Workers are fresh processes that read their settings from the environment.
    os.environ |= {variable_name(key): str(value) for key, value in given.items() if value is not None}
    config = uvicorn.Config(
        _APPLICATION,
        factory=True,
        workers=settings.workers,
        loop="uvloop",
        http=ReadAheadProtocol,
        access_log=False,
        log_config=make_log_config(settings.log_format, settings.log_level),
        backlog=_BACKLOG,
        timeout_keep_alive=settings.keep_alive,
        timeout_graceful_shutdown=int(settings.request_timeout) + 1,
        server_header=False,
        proxy_headers=False,  # nothing here depends on where a request came from
        ws="none",
    )
    host_shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    click.echo(f"ellzero: http://{host_shown}:{bound} (API at /docs); stop with Ctrl-C", err=True)
    # Once it has shut down, uvicorn raises the signal that ended it again: that is a normal exit.
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
    """Several workers. SIGHUP is passed on to each of them, so that running jobs go on."""

    def handle_hup(self) -> None:
        for process in self.processes:
            if process.pid is not None:
                os.kill(process.pid, signal.SIGHUP)

    @property
    def failed(self) -> bool:
        """Return whether it ended because a worker could not start."""
        return any(process.exitcode == STARTUP_FAILURE for process in self.processes)


def _warn_of_unknown_variables() -> None:
    for name, nearest in find_unknown_variables():
        hint = "" if nearest is None else f"; did you mean {nearest}?"
        click.echo(f"ellzero: warning: {name} is not a setting{hint}", err=True)


def _check_models(settings: ServeSettings) -> None:
    """Report before anything is started that models cannot be served."""
    if settings.models is not None and not can_vote() and not can_certify_trees():
        raise MissingExtra("serving models", "predict")
    if settings.models is not None and not Path(settings.models).is_dir():
        raise InvalidInput("models", "an existing folder", settings.models)
    if settings.jobs is not None:
        JobStore(settings.jobs)
    if settings.device != "auto" and can_vote():
        from ellzero.smoothing.models.devices import find_device

        find_device(settings.device)


def _listener(settings: ServeSettings) -> socket.socket:
    """Return a listening socket, so that an address in use is reported before the table is loaded."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)  # early clients wait instead of being refused
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise click.ClickException(f"cannot listen on {settings.host} port {settings.port}: {reason}") from None
    listener.set_inheritable(True)
    return listener


def _print_new_key(name: str) -> None:
    key, digest = make_key()
    click.echo(f"key for the client, shown only once: {key}")
    setting = orjson.dumps({name: {"sha256": digest}}).decode()
    click.echo(f"setting: {variable_name('api_keys')}={shlex.quote(setting)}")
