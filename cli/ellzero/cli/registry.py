"""Which commands there are, where each lives, and which extra brings what it needs."""

from collections.abc import Sequence
from typing import Final, NamedTuple


class CommandEntry(NamedTuple):
    """A command: ``target`` is module:function, ``extra`` brings what it imports.

    ``summary`` is the first line of its help, repeated here so that listing the commands imports none of them.
    """

    target: str
    extra: str | None
    summary: str


COMMANDS: Final = {
    "advise": CommandEntry(
        "ellzero.cli.advise:advise_command",
        "predict",
        "Say which amount of noise to use: what certificates are expected to give at each, from a few votes.",
    ),
    "certify": CommandEntry(
        "ellzero.cli.certify:certify_command",
        "predict",
        "Certify the inputs of a data set: class, votes and radius of each, as Parquet.",
    ),
    "conformal": CommandEntry(
        "ellzero.cli.conformal:conformal_group",
        "predict",
        "Predict sets of classes that hold the true one, also for inputs that were changed.",
    ),
    "jobs": CommandEntry(
        "ellzero.cli.jobs:jobs_group",
        "cluster",
        "List, read and stop the jobs that `ellzero submit` started on a Ray cluster.",
    ),
    "judge": CommandEntry(
        "ellzero.cli.judge:judge_command",
        None,
        "Judge the certified radii of others by exact certificates of the same votes or probabilities.",
    ),
    "plan": CommandEntry(
        "ellzero.cli.plan:plan_command",
        None,
        "Print how many votes a radius needs, or how far n votes can reach, as the last line.",
    ),
    "plot": CommandEntry("ellzero.cli.plot:plot_group", None, "Draw figures as PNG, SVG or PDF."),
    "precompute": CommandEntry(
        "ellzero.cli.precompute:precompute_command",
        "tables",
        "Compute tables of thresholds for a grid of noises and write them as Parquet.",
    ),
    "radius": CommandEntry(
        "ellzero.cli.radius:radius_command",
        None,
        "Print the certified radius, or `abstain`, as the last line: computed here, or from a table or a service.",
    ),
    "report": CommandEntry(
        "ellzero.cli.report:report_command",
        "tables",
        "Print the mean certified radius μ(R) and ACC@r of RESULTS, and draw them.",
    ),
    "reproduce": CommandEntry(
        "ellzero.cli.reproduce.group:reproduce_group",
        None,
        "Repeat the paper's experiments, each by one command, and set its figures beside ours.",
    ),
    "serve": CommandEntry("ellzero.cli.serve:serve_command", "serve", "Serve certified radii over HTTP, and the page."),
    "submit": CommandEntry(
        "ellzero.cli.submit:submit_command",
        "cluster",
        "Run an ellzero COMMAND with its ARGUMENTS on a Ray cluster, with the code that is installed here.",
    ),
    "tables": CommandEntry(
        "ellzero.cli.tables:tables_group", "tables", "Look into, check and convert tables of thresholds."
    ),
    "thresholds": CommandEntry(
        "ellzero.cli.thresholds:thresholds_command",
        None,
        "Print the thresholds ρ_r⁻¹(1/2): a probability p certifies radius r iff p exceeds the r-th one.",
    ),
    "train": CommandEntry(
        "ellzero.cli.train:train_command",
        "predict",
        "Train a network on noisy inputs, by the paper's recipe, and save it as a model.",
    ),
    "tree": CommandEntry(
        "ellzero.cli.tree:tree_group",
        "trees",
        "Train trees and forests on bits or molecules, and certify them exactly.",
    ),
    "verify": CommandEntry(
        "ellzero.cli.verify:verify_command",
        None,
        "Derive a certificate again from its votes, or every radius of a run, without the engine that made it.",
    ),
}

REPRODUCE_COMMANDS: Final = {
    "bace": CommandEntry(
        "ellzero.cli.reproduce.bace:bace_command",
        "reproduce",
        "Repeat the experiment on BACE: guaranteed AUC against the share of manipulated molecules.",
    ),
    "beyond-mnist": CommandEntry(
        "ellzero.cli.reproduce.beyond_mnist:beyond_mnist_command",
        "reproduce",
        "Certify MNIST beyond the paper: hide most pixels, and let votes certify the lead of two classes.",
    ),
    "graphs": CommandEntry(
        "ellzero.cli.reproduce.graphs:graphs_command",
        "reproduce",
        "Certify the nodes of citation graphs under noise on features, edges, or both, each alone and all at once.",
    ),
    "imagenet": CommandEntry(
        "ellzero.cli.reproduce.imagenet:imagenet_command",
        "reproduce",
        "Certify every hundredth validation image of ImageNet by ResNet-50, with the best α for each r.",
    ),
    "mnist": CommandEntry(
        "ellzero.cli.reproduce.mnist:mnist_command",
        "reproduce",
        "Train and certify binarised MNIST as in Table 1 of the paper, and search for adversaries.",
    ),
    "regions": CommandEntry(
        "ellzero.cli.reproduce.regions:regions_command",
        "reproduce",
        "Draw the paper's analysis figure: regions against r at ImageNet size, thresholds, certified accuracies.",
    ),
    "text": CommandEntry(
        "ellzero.cli.reproduce.text:text_command",
        "reproduce",
        "Certify sentences against substituted tokens: SST-2 and TREC by a bag of words. Not in the paper.",
    ),
    "thresholds": CommandEntry(
        "ellzero.cli.reproduce.thresholds:thresholds_command",
        "reproduce",
        "Compute all published thresholds by the engine and by the published algorithm, and compare every digit.",
    ),
}
"""Those of ``ellzero reproduce``."""


def find_extra(line: Sequence[str]) -> str | None:
    """The extra that brings what a command line needs: that of the command in a group whose commands differ in it."""
    if line[0] == "reproduce" and len(line) > 1 and line[1] in REPRODUCE_COMMANDS:
        return REPRODUCE_COMMANDS[line[1]].extra
    return COMMANDS[line[0]].extra
