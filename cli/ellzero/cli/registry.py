"""Which commands there are, where each lives, and which extra brings what it needs."""

from typing import NamedTuple


class CommandEntry(NamedTuple):
    """A command of ``ellzero``: ``target`` is module:function, ``extra`` brings what it imports.

    ``summary`` is for the list of commands, so that showing it imports none of them.
    """

    target: str
    extra: str | None
    summary: str


COMMANDS = {
    "certify": CommandEntry(
        "ellzero.cli.certify:certify_command", "predict", "Certify the inputs of a data set: class, votes and radius."
    ),
    "jobs": CommandEntry("ellzero.cli.jobs:jobs_group", "cluster", "List, read and stop jobs on a Ray cluster."),
    "plan": CommandEntry("ellzero.cli.plan:plan_command", None, "Print how many votes a radius needs."),
    "plot": CommandEntry("ellzero.cli.plot:plot_group", None, "Draw figures as PNG, SVG or PDF."),
    "precompute": CommandEntry(
        "ellzero.cli.precompute:precompute_command", "tables", "Compute tables of thresholds for a grid of (K, α)."
    ),
    "radius": CommandEntry("ellzero.cli.radius:radius_command", None, "Print the certified radius."),
    "report": CommandEntry(
        "ellzero.cli.report:report_command", "tables", "Print the mean certified radius and ACC@r of results."
    ),
    "serve": CommandEntry("ellzero.cli.serve:serve_command", "serve", "Serve certified radii over HTTP, and the page."),
    "submit": CommandEntry("ellzero.cli.jobs:submit_command", "cluster", "Run a command on a Ray cluster."),
    "tables": CommandEntry("ellzero.cli.tables:tables_group", "tables", "Look into, check and convert tables."),
    "thresholds": CommandEntry("ellzero.cli.thresholds:thresholds_command", None, "Print the thresholds ρ_r⁻¹(1/2)."),
    "train": CommandEntry("ellzero.cli.train:train_command", "predict", "Train a network on noisy inputs."),
}
