"""The command ``ellzero reproduce text``."""

from dataclasses import replace
from pathlib import Path

import click

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.text import NAME, run_text
from ellzero.experiments.text_data import CORPORA, write_made_up_corpus
from ellzero.experiments.text_settings import QUICK, TextSettings

_FILES = "; or ".join(", ".join(corpus.files) for corpus in CORPORA)


@click.command("text", cls=Command)
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help=f"A folder with {_FILES}; or with both.")
@click.option(
    "--sentences",
    type=IntegerRange(min=2),
    default=TextSettings.sentences,
    show_default=True,
    help="Test sentences of each data set to certify, a random sample; a larger number adds to those that are there.",
)
@click.option("--n", type=VOTES, default=TextSettings.n, show_default=True, help="Votes for each certificate.")
@click.option("--epochs", type=IntegerRange(min=1), default=TextSettings.epochs, show_default=True)
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@experiment_options(NAME, "made-up sentences; needs no data", settled=("data", "sentences", "n", "epochs"))
def text_command(
    folder: ExperimentFolder, quick: bool, data: Path | None, sentences: int, n: int, epochs: int, seed: int
) -> None:
    """Certify sentences against substituted tokens: SST-2 and TREC by a bag of words. Not in the paper.

    Trains a network for each level of noise, tokens hidden or substituted, chooses levels on validation sentences, and
    certifies test sentences. What floating point and the rules of RanMASK claim of the same votes stands beside it.
    """
    if quick:
        settings, data = replace(QUICK, seed=seed), write_made_up_corpus(folder.subfolder("sentences"), seed)
    elif data is None:
        raise click.UsageError(f"give --data, a folder with {_FILES}; --quick needs none")
    else:
        settings = TextSettings(sentences=sentences, n=n, epochs=epochs, seed=seed)
    print_result(run_text(folder, data, settings), folder.path)
