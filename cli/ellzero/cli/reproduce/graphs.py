"""The command ``ellzero reproduce graphs``."""

from dataclasses import replace
from pathlib import Path

import click

from ellzero.cli.certificate_options import VOTES
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.cli.reproduce.options import experiment_options, print_result
from ellzero.experiments.folder import ExperimentFolder
from ellzero.experiments.graph_data import FILES, make_random_data, read_data
from ellzero.experiments.graph_network import GraphRecipe
from ellzero.experiments.graph_settings import NOISES, QUICK, GraphSettings
from ellzero.experiments.graphs import NAME, run_graphs


@click.command("graphs", cls=Command)
@click.option("--data", type=click.Path(path_type=Path), help=f"A folder with {' and '.join(FILES.values())}.")
@click.option(
    "--noise",
    "noises",
    type=click.Choice(list(NOISES)),
    multiple=True,
    default=list(NOISES),
    show_default=True,
    help="What is struck, a network each; may be repeated.",
)
@click.option("--n", type=VOTES, default=GraphSettings.n, show_default=True, help="Noisy graphs for certificates.")
@click.option(
    "--epochs",
    type=IntegerRange(min=1),
    default=GraphRecipe.epochs,
    show_default=True,
    help="Of training, a step each.",
)
@click.option("--seed", type=IntegerRange(0, 2**31 - 1), default=0, show_default=True)
@experiment_options(NAME, "a small random graph, which needs no data", settled=("data", "noises", "n", "epochs"))
def graphs_command(
    folder: ExperimentFolder,
    quick: bool,
    data: Path | None,
    noises: tuple[str, ...],
    n: int,
    epochs: int,
    seed: int,
) -> None:
    """Certify the nodes of citation graphs under noise on features, edges, or both, each alone and all at once.

    Beside the exact certificates: what float code claims for the same votes, and how many predictions one adversary can
    change in the whole graph.
    """
    if quick:
        result = run_graphs(folder, [make_random_data(seed)], replace(QUICK, seed=seed))
    elif data is None:
        raise click.UsageError(f"give --data, a folder with {' and '.join(FILES.values())}; --quick needs none")
    else:
        chosen = tuple(name for name in NOISES if name in noises)
        recipe = GraphRecipe(epochs=epochs, seed=seed)
        result = run_graphs(folder, read_data(data), GraphSettings(chosen, recipe, n=n, seed=seed))
    print_result(result, folder.path)
