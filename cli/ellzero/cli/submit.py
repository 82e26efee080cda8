"""The command ``ellzero submit``: any other command of ellzero as a job of a Ray cluster."""

import click

from ellzero.cli.jobs import address_option, describe_ending, show_log
from ellzero.cli.parameters import Command
from ellzero.cli.registry import COMMANDS, find_extra
from ellzero.core.progress import notify
from ellzero.precompute.jobs.cluster import Cluster, Submission, check_name, default_name

_NOT_AS_JOBS = {"jobs", "submit"}


@click.command("submit", cls=Command, context_settings={"allow_interspersed_args": False})
@address_option
@click.option("--name", help="Name of the job; by default one that follows from the command.")
@click.option("--no-wait", is_flag=True, help="Print the name and return, without waiting for the end.")
@click.argument("command")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def submit_command(address: str, name: str | None, no_wait: bool, command: str, arguments: tuple[str, ...]) -> None:
    """Run an ellzero COMMAND with its ARGUMENTS on a Ray cluster, with the code that is installed here.

    Options of submit come before COMMAND. Paths among the ARGUMENTS are paths on the cluster: give absolute paths or
    URIs that all its machines can reach.

    Repeat the command to rejoin its job: the output of a running or succeeded job is shown, and a failed or stopped job
    is started again. The exit code is 0 if the job succeeds.
    """
    runnable = set(COMMANDS) - _NOT_AS_JOBS
    if command not in runnable:
        raise click.UsageError(f"no command '{command}' that could be a job; there are {', '.join(sorted(runnable))}")
    line = (command, *arguments)
    name = default_name(line) if name is None else check_name(name)
    cluster = Cluster(address)
    submission = cluster.submit(name, line, find_extra(line))
    for text in _describe(submission):
        notify(text)
    if no_wait:
        click.echo(submission.job.name)
        return
    show_log(cluster, submission.job)


def _describe(submission: Submission) -> list[str]:
    job = submission.job
    if submission.new and submission.previous is None:
        return [f"job {job.name} is submitted"]
    if submission.new and submission.previous is not None:
        return [f"job {job.name} has {describe_ending(submission.previous)}: submitted again, attempt {job.attempt}"]
    lines = [f"job {job.name} {f'has {describe_ending(job)}' if job.is_over else f'is {job.status}'} already"]
    if not submission.same_code:
        lines.append(f"job {job.name} was submitted with code that differs from the one installed here")
    return lines
