"""Options of the commands that compute certificates, with the bounds of the mathematics."""

from collections.abc import Callable

import click

from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.certificates.families.discrete import MAX_K
from ellzero.cli.parameters import IntegerRange
from ellzero.core.numbers import MAX_DIMENSION

K = IntegerRange(1, MAX_K)
DIMENSION = IntegerRange(1, MAX_DIMENSION)
RADIUS = IntegerRange(min=0)
VOTES = IntegerRange(1, MAX_VOTES)


def noise_options(command: Callable[..., None]) -> Callable[..., None]:
    """--k and --alpha."""
    command = click.option("--alpha", required=True, help="Total probability of staying, in (0, 1): 0.8 or 4/5.")(
        command
    )
    return click.option(
        "--k", type=K, required=True, help="Number of categories minus one: 255 for bytes, 1 for bits."
    )(command)
