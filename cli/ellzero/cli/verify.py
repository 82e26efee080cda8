"""The command ``ellzero verify``."""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import click

from ellzero.audit.document import CertificateDocument
from ellzero.audit.errors import RejectedCertificate
from ellzero.audit.verification import verify_file
from ellzero.cli.parameters import Command
from ellzero.core.canonical_json import read_small_file
from ellzero.core.errors import BadResults, MissingExtra
from ellzero.core.progress import track
from ellzero.core.text import count_noun, escape_line

_MOST_PRINTED = 20
_MOST_INPUT_BYTES = 1 << 30
_SECONDS_A_ROW = 1e-3


@click.command("verify", cls=Command)
@click.argument("place", metavar="CERTIFICATE|RESULTS")
@click.option(
    "--public-key",
    type=click.Path(dir_okay=False, path_type=Path),
    help="PEM file of the key that must have signed the certificate.",
)
@click.option("--model", help="Draw the votes again with this model: a .safetensors file, or a name in --models.")
@click.option(
    "--models",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("models"),
    envvar="ELLZERO_MODELS",
    show_default=True,
    help="The folder of named models; demo-digits is always available.",
)
@click.option("--input", "x", type=click.Path(dir_okay=False, path_type=Path), help="With --model: the input, as .npy.")
@click.option(
    "--protected",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --input: booleans in its shape, as .npy, if it has protected positions.",
)
@click.option(
    "--allow-factory",
    "allowed",
    multiple=True,
    envvar="ELLZERO_ALLOW_FACTORIES",
    help="A module:function that may build networks. Its code is executed.",
)
def verify_command(
    place: str,
    public_key: Path | None,
    model: str | None,
    models: Path,
    x: Path | None,
    protected: Path | None,
    allowed: tuple[str, ...],
) -> None:
    """Derive a certificate again from its votes, or every radius of a run, without the engine that made it.

    CERTIFICATE is a document of `ellzero certify --certificates` or `write_certificate`; RESULTS a folder of `ellzero
    certify`, or its s3:// URI. The last line is the verdict; the exit code is 1 if anything is false.

    It shows that the claim follows from the votes. It does not show that the votes are those of the model (--model and
    --input draw them again), nor that the seed and the settings were fixed before the votes: who tries many seeds and
    keeps the best certificate has a claim that is false more often than it says.
    """
    if (model is None) is not (x is None):
        raise click.UsageError("give --model and --input together")
    if protected is not None and x is None:
        raise click.UsageError("--protected is of an --input")
    path = Path(place)
    if "://" in place or path.is_dir():
        if public_key is not None or model is not None:
            raise click.UsageError("--public-key, --model and --input are for a single certificate")
        _verify_run(place)
        return
    if not path.exists():
        raise click.UsageError(f"there is no file or folder {escape_line(place)}")
    try:
        verified = verify_file(path, None if public_key is None else _read_key(public_key))
    except RejectedCertificate as rejected:
        click.echo(f"NOT VERIFIED: {rejected}")
        sys.exit(1)
    drawn = ""
    if model is not None and x is not None:
        differences = _redraw(verified.document, model, models, x, protected, allowed)
        if differences:
            click.echo(f"NOT VERIFIED: {escape_line(place)}: {'; '.join(differences)}")
            sys.exit(1)
        drawn = ", and so do its votes when they are drawn again"
    signer = "not signed" if verified.signer is None else f"signed with the key {verified.signer}"
    if verified.signer is not None and public_key is None:
        signer += ", which may be anybody's: --public-key says whose it must be"
    click.echo(f"verified{drawn}: {verified.document.claim} ({signer})")


def _read_key(path: Path) -> Any:
    from ellzero.core.signing_keys import read_public_key

    return read_public_key(path)


def _redraw(
    document: CertificateDocument, model: str, models: Path, x: Path, protected: Path | None, allowed: tuple[str, ...]
) -> list[str]:
    """What differs if the votes are drawn again."""
    try:
        from ellzero.smoothing.documents import redraw_votes
        from ellzero.smoothing.models.files import find_model_file, load_model
    except ModuleNotFoundError as missing:
        raise MissingExtra("drawing votes again", "predict", missing.name or "") from None
    levels = _read_array(x, "--input")
    mask = None if protected is None else _read_array(protected, "--protected")
    path = find_model_file(model, models)
    return redraw_votes(document, load_model(path, allowed), levels, mask)


def _read_array(path: Path, option: str) -> Any:
    import numpy as np

    try:
        return np.load(BytesIO(read_small_file(path, _MOST_INPUT_BYTES)), allow_pickle=False)
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise click.UsageError(f"{option}: {path}: {reason or 'is no .npy file of numbers'}") from None


def _verify_run(uri: str) -> None:
    """Derive the radius of every row again."""
    try:
        from ellzero.smoothing.runs.counted_rows import read_rows
        from ellzero.smoothing.runs.result_store import ResultStore
    except ModuleNotFoundError as missing:
        raise MissingExtra("reading results", "tables", missing.name or "") from None
    from ellzero.audit.laws import UnknownLaw
    from ellzero.audit.rederivation import RadiusDerivation

    store = ResultStore(uri)
    inputs, problems, abstained = len(store.present()), list[str](), 0
    derivation: RadiusDerivation | None = None
    try:
        for row in track(read_rows(store), inputs, "inputs", inputs * _SECONDS_A_ROW):
            if row.votes.runner_up and row.votes.top_k > 1:
                raise BadResults(uri, "cannot be verified: its radii are of --runner-up with --top-k above 1")
            derivation = derivation or RadiusDerivation(row.votes.noise, row.votes.top_k)
            own = [*row.contradictions, *derivation.list_problems(row.votes, row.radius, row.lower, row.upper)]
            if row.prediction != (-1 if row.radius is None else row.votes.selected):
                own.append("the prediction is not the class")
            abstained += row.radius is None
            problems += [f"input {row.index}: {problem}" for problem in own]
    except UnknownLaw as error:
        raise BadResults(uri, f"cannot be verified: its noise {error}") from None
    for problem in problems[:_MOST_PRINTED]:
        click.echo(problem)
    if len(problems) > _MOST_PRINTED:
        click.echo(f"… and {len(problems) - _MOST_PRINTED:,} more")
    if problems:
        click.echo(f"NOT VERIFIED: {count_noun(len(problems), 'problem')} with {count_noun(inputs, 'input')} of {uri}")
        sys.exit(1)
    click.echo(
        f"verified: the radii of {count_noun(inputs, 'input')} are exactly what their votes prove; "
        f"{abstained:,} of them abstain"
    )
