"""The commands ``ellzero jobs``: list, read and stop jobs on a Ray cluster."""

import json
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from ellzero.cli.groups import CommandGroup
from ellzero.cli.parameters import Command
from ellzero.core.progress import notify
from ellzero.core.text import format_duration
from ellzero.precompute.jobs.cluster import Cluster, ClusterJob

_DEFAULT_ADDRESS = "http://127.0.0.1:8265"
_INTERRUPTED = 130


def address_option(command: Callable[..., None]) -> Callable[..., None]:
    """--address, by default from the environment variable that Ray's own commands read."""
    return click.option(
        "--address",
        envvar="RAY_API_SERVER_ADDRESS",
        default=_DEFAULT_ADDRESS,
        show_default=True,
        show_envvar=True,
        help="HTTP address of the head of the Ray cluster.",
    )(command)


@click.group("jobs", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def jobs_group(ctx: click.Context) -> None:
    """List, read and stop the jobs that `ellzero submit` started on a Ray cluster."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@jobs_group.command("list", cls=Command)
@address_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with start, end and exit code.")
def list_command(address: str, as_json: bool) -> None:
    """List the jobs, newest first. A job that was started several times is listed once, as last started."""
    jobs = Cluster(address).list_jobs()
    if as_json:
        click.echo(json.dumps([_as_json(job) for job in jobs]))
        return
    if not jobs:
        notify(f"no jobs at {address}")
        return
    rows = [("NAME", "STATUS", "ATTEMPT", "STARTED (UTC)", "TOOK", "COMMAND"), *map(_as_row, jobs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@jobs_group.command("logs", cls=Command)
@address_option
@click.option("--follow", is_flag=True, help="Keep printing until the job ends; the exit code is 0 if it succeeds.")
@click.argument("name")
def logs_command(address: str, follow: bool, name: str) -> None:
    """Print the output of the job called NAME."""
    cluster = Cluster(address)
    job = cluster.find_job(name)
    if follow:
        show_log(cluster, job)
    else:
        click.echo(cluster.read_log(job), nl=False)


@jobs_group.command("stop", cls=Command)
@address_option
@click.argument("name")
def stop_command(address: str, name: str) -> None:
    """Stop the job called NAME, and wait until it has stopped. Submitting its command again resumes it."""
    cluster = Cluster(address)
    before = cluster.find_job(name)
    after = cluster.stop(before)
    if not after.is_over:
        raise click.ClickException(f"job {name} was asked to stop, but is still {after.status}")
    if before.is_over or after.status != "stopped":
        notify(f"job {name} needed no stop: it has {describe_ending(after)}")
    else:
        notify(f"job {name} is stopped")


def show_log(cluster: Cluster, job: ClusterJob) -> None:
    """Print the job's output until its end. Returns if the job succeeds; an interruption leaves it running."""
    try:
        for piece in cluster.follow_log(job):
            click.echo(piece, nl=False)
        end = cluster.refresh(job)
    except KeyboardInterrupt:
        where = "" if cluster.address == _DEFAULT_ADDRESS else f" --address {cluster.address}"
        notify(f"job {job.name} keeps running; to stop it: ellzero jobs stop{where} {job.name}")
        raise SystemExit(_INTERRUPTED) from None
    if end.status != "succeeded":
        raise click.ClickException(f"job {job.name} has {describe_ending(end)}")


def describe_ending(job: ClusterJob) -> str:
    """How the job ended, to follow "has"."""
    if job.status == "stopped":
        return "been stopped"
    if job.status == "failed":
        return f"failed: {job.reason}" if job.exit_code is None else f"failed with exit code {job.exit_code}"
    return job.status


def _as_row(job: ClusterJob) -> tuple[str, ...]:
    started = "" if job.started is None else f"{job.started:%Y-%m-%d %H:%M:%S}"
    seconds = _seconds(job)
    took = "" if seconds is None else format_duration(seconds)
    return job.name, job.status, str(job.attempt), started, took, shlex.join(job.command)


def _as_json(job: ClusterJob) -> dict[str, Any]:
    return {
        "name": job.name,
        "status": job.status,
        "attempt": job.attempt,
        "command": list(job.command),
        "started": None if job.started is None else job.started.isoformat(),
        "ended": None if job.ended is None else job.ended.isoformat(),
        "seconds": _seconds(job),
        "exit_code": job.exit_code,
        "code": job.code,
    }


def _seconds(job: ClusterJob) -> float | None:
    """How long the job took, or has taken so far."""
    return None if job.started is None else ((job.ended or datetime.now(UTC)) - job.started).total_seconds()
