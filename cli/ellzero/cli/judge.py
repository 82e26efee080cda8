"""The command ``ellzero judge``."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from ellzero.audit.claimed_radii import read_claims
from ellzero.audit.judgement import JudgedRadius, Verdict, count_changes, judge, measure_l2
from ellzero.certificates.families.base import Family
from ellzero.cli.certificate_options import DIMENSION, VOTES
from ellzero.cli.family_options import optional_family_options
from ellzero.cli.parameters import Command, IntegerRange
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.numbers import read_failure, read_positive
from ellzero.core.text import escape_line

_MOST_PRINTED = 20
_DOWN = Context(prec=6, rounding=ROUND_FLOOR)
_MEANINGS = {
    Verdict.PROVED: "the exact certificate gives this radius",
    Verdict.LOOSE: "the exact certificate gives a larger one",
    Verdict.NOT_PROVED: "the exact certificate gives a smaller one, or none",
    Verdict.CANNOT_BE_JUDGED: "without votes or p; unanimous votes would prove it",
    Verdict.ABSTAINED: "no radius is claimed",
}


@click.command("judge", cls=Command)
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@optional_family_options
@click.option("--sigma", help="In place of a family: Gaussian noise, and radii in l2.")
@click.option("--d", type=DIMENSION, help="Number of coordinates, or of what a radius counts.")
@click.option("--n", type=VOTES, help="Votes for each certificate, where FILE has no column n.")
@click.option("--failure", default=DEFAULT_FAILURE, show_default=True, help="Probability that a certificate is false.")
@click.option(
    "--claims",
    type=click.Choice(["at-most", "below"]),
    default="at-most",
    show_default=True,
    help="What a radius r claims: at most r changes, or fewer than r.",
)
@click.option(
    "--channels",
    type=IntegerRange(1, 64),
    default=1,
    show_default=True,
    help="If radii count pixels and the noise is on coordinates: coordinates of a pixel.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every row as JSON.")
def judge_command(
    file: Path,
    family: Family | None,
    sigma: str | None,
    d: int | None,
    n: int | None,
    failure: str,
    claims: str,
    channels: int,
    as_json: bool,
) -> None:
    """Judge the certified radii of others by exact certificates of the same votes or probabilities.

    FILE is TSV, CSV or Parquet with a header: a column radius, and if there are any idx, predict (-1 abstains), count
    (also counts, nA), n, and p (also pA, pABar, p_lower, lower_bound), a lower bound that is taken at its word. Other
    columns are left aside. A radius is proved if the exact certificate of its votes, or of its p, gives it too; loose
    if that gives more; and not proved if it gives less. Without votes and p a radius is not proved if even n unanimous
    votes would not give it, and cannot be judged otherwise.

    The exit code is 1 if any radius is not proved.
    """
    epsilon = read_failure(failure)
    if (family is None) is (sigma is None):
        raise click.UsageError("give the noise: --family and its parameters, such as --k and --alpha, or --sigma")
    if sigma is not None:
        if channels != 1 or claims != "at-most" or d is not None:
            raise click.UsageError("--d, --channels and --claims are for radii that count changes, and these are of l2")
        exact, mean = measure_l2(read_positive(sigma, "sigma"))
        noise, convention = f"Gaussian noise, σ = {sigma}", "a radius r claims every change with an l2 norm below r"
    else:
        assert family is not None
        if d is None:
            raise click.UsageError("Missing option '--d'.")
        exact, mean = count_changes(family, d, channels, claims == "below")
        unit = "changes" if channels == 1 else f"changed pixels of {channels} coordinates"
        noise, few = f"{family}, d = {d}", "at most" if claims == "at-most" else "fewer than"
        convention = f"a radius r claims {few} r {unit}"
    judged = list(judge(read_claims(file), exact, mean, n, epsilon))
    if as_json:
        click.echo(json.dumps([_describe(each) for each in judged]))
    else:
        votes = "" if n is None else f", n = {n:,}"
        click.echo(f"{noise}{votes}, failure {failure}; {convention}")
        _print(judged)
    if any(each.verdict is Verdict.NOT_PROVED for each in judged):
        sys.exit(1)


def _print(judged: Sequence[JudgedRadius]) -> None:
    wrong = [each for each in judged if each.verdict is Verdict.NOT_PROVED]
    for each in wrong[:_MOST_PRINTED]:
        index, claimed = escape_line(each.claim.index, 40), _write(each.claim.radius)
        click.echo(f"idx {index}: claims {claimed}, and {_write(each.exact)} is proved")
    if len(wrong) > _MOST_PRINTED:
        click.echo(f"… and {len(wrong) - _MOST_PRINTED:,} more")
    verdicts = Counter(each.verdict for each in judged)
    for verdict, meaning in _MEANINGS.items():
        click.echo(f"{verdicts[verdict]:>9,}  {verdict:<17} {meaning}")
    if rounded := sum(each.within_rounding for each in wrong):
        click.echo(f"of those not proved, {rounded:,} by no more than the rounding of their last digit")
    number = len(judged) - verdicts[Verdict.ABSTAINED]
    if wrong:
        click.echo(f"not proved: {len(wrong):,} of {number:,} claimed radii")
    else:
        known = number - verdicts[Verdict.CANNOT_BE_JUDGED]
        click.echo(f"every radius that can be judged is proved: {known:,} of {number:,}")


def _describe(judged: JudgedRadius) -> dict[str, Any]:
    return {
        "idx": judged.claim.index,
        "claimed": None if judged.claim.radius is None else _write(judged.claim.radius),
        "exact": None if judged.exact is None else _write(judged.exact),
        "verdict": judged.verdict.value,
        "within_rounding": judged.within_rounding,
    }


def _write(radius: Fraction | None) -> str:
    """A radius rounded down to six digits; whole ones as they are."""
    if radius is None:
        return "nothing"
    if radius.denominator == 1:
        return str(radius) if radius < 10**12 else "everything"
    return f"{_DOWN.divide(Decimal(radius.numerator), Decimal(radius.denominator)).normalize():f}"
