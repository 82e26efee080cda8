"""Questions answered from an index, with reasons: what the local client and the service both say.

Each function gives what exact arithmetic gives, whatever the table lacks; `Source` tells whether the engine was needed.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import (
    Noise,
    Votes,
    gaussian_l0_radius,
    gaussian_l0_threshold,
    lower_bound,
    min_count,
    plan,
    sigma_for_alpha,
)
from ellzero.certificates.rounding import decimal
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer, read_probability
from ellzero.core.schemas import (
    CompareAnswer,
    ComparedThreshold,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    TableColumn,
    TablesAnswer,
    ThresholdRow,
    ThresholdsAnswer,
)
from ellzero.tables.format.rows import DIGITS
from ellzero.tables.lookup.column_cache import Source
from ellzero.tables.lookup.index import ThresholdIndex
from ellzero.tables.lookup.results import ABSTAIN, ColumnResult, LocatedRadius, RadiusResult

MOST_COMPARED = 10_000
_UNIT = 10**DIGITS


def answer_probability(index: ThresholdIndex, noise: Noise, p: RationalLike, d: int) -> RadiusAnswer:
    """The radius of a probability, and the thresholds it lies between."""
    located = index.locate(noise, index.radius(p, noise, d), d)
    return explained(noise, read_probability(p, "p"), d, located, _exact_text(p))


def explained(noise: Noise, p: Fraction, d: int, located: LocatedRadius, written: str) -> RadiusAnswer:
    """The radius of p with the thresholds it lies between; ``written`` is how p was written."""
    radius, source, unit, next_unit = located
    certain = p.numerator == p.denominator  # no threshold decides
    return RadiusAnswer(
        radius=radius,
        threshold=None if unit is None or certain else decimal(unit, DIGITS),
        next_threshold=None if next_unit is None or certain else decimal(next_unit, DIGITS),
        margin=(
            None if unit is None or certain else decimal(max(p.numerator * _UNIT // p.denominator - unit, 0), DIGITS)
        ),
        source=source.value,
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
        p=written,
    )


def answer_two_classes(index: ThresholdIndex, noise: Noise, p: RationalLike, p_b: RationalLike, d: int) -> RadiusAnswer:
    """The radius of a probability against at most p_b for every other class."""
    return _radius(noise, d, index.radius(p, noise, d, p_b), p=_exact_text(p), p_b=_exact_text(p_b))


def answer_votes(index: ThresholdIndex, noise: Noise, votes: Votes, d: int) -> RadiusAnswer:
    """The radius of votes, the thresholds around it, and the counts that certify it and one more."""
    found = index.radius(votes, noise, d)
    _, _, reached, beyond = index.locate(noise, found, d)
    low = Fraction(lower_bound(votes))
    margin = None if reached is None else max(low.numerator * _UNIT // low.denominator - reached, 0)
    following = 0 if found.radius is None else found.radius + 1
    return _radius(
        noise,
        d,
        found,
        reached,
        beyond,
        margin,
        count=votes.count,
        n=votes.n,
        failure=str(votes.failure),
        p_lower=decimal(low.numerator * _UNIT // low.denominator, DIGITS),
        min_count=None if found.radius is None else min_count(noise, found.radius, votes.n, votes.failure),
        next_min_count=min_count(noise, following, votes.n, votes.failure) if following <= d else None,
    )


def answer_list(
    index: ThresholdIndex,
    noise: Noise,
    p: Sequence[RationalLike],
    d: int,
    p_b: RationalLike | Sequence[RationalLike] | None = None,
) -> RadiiAnswer:
    """Radii of many probabilities: floats count as their exact values, all else is read exactly."""
    if p_b is not None:
        found = _of_pairs(index, noise, p, p_b, d)
    elif set(map(type, p)) == {float}:
        radii, source = index.radius(np.array(p, np.float64), noise, d)
        return _radii(noise, d, radii, source)
    else:
        found = _of_each(index, noise, p, d)
    return RadiiAnswer(
        radii=[one.radius for one in found],
        source=_joint_source(found),
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
    )


def answer_counts(
    index: ThresholdIndex, noise: Noise, counts: Sequence[int], n: int, failure: RationalLike, d: int
) -> RadiiAnswer:
    """Radii of many counts of n votes each."""
    n = Votes(0, n, failure).n
    array = np.array([read_integer(count, "count", 0, n) for count in counts], np.int64)
    radii, source = index.radii_of_counts(array, n, failure, noise, d)
    return _radii(noise, d, radii, source)


def answer_array(
    index: ThresholdIndex,
    noise: Noise,
    values: NDArray[Any],
    d: int,
    n: int | None = None,
    failure: RationalLike = "0.001",
    p_b: RationalLike | Sequence[RationalLike] | None = None,
) -> RadiiArray:
    """Radii of an array of probabilities, with runners-up perhaps, or with n of counts, in its shape."""
    if n is not None:
        radii, source = index.radii_of_counts(values, n, failure, noise, d)
    elif p_b is None:
        radii, source = index.radius(values, noise, d)
    else:
        found = _of_pairs(index, noise, values.ravel().tolist(), p_b, d)
        radii, source = (
            np.array([one.number for one in found], np.int32).reshape(values.shape),
            Source(_joint_source(found)),
        )
    return RadiiArray(radii=radii, source=source.value, k=noise.k, alpha=str(noise.alpha), d=d)


def answer_thresholds(index: ThresholdIndex, noise: Noise, r_max: int | None = None) -> ThresholdsAnswer:
    """τ_0 … τ_{r_max}, or up to saturation."""
    return column_answer(index.thresholds(noise, r_max))


def column_answer(found: ColumnResult) -> ThresholdsAnswer:
    """A column that was found, as an answer."""
    part, source = found
    rows, noise = part.rows, part.noise
    return ThresholdsAnswer(
        rows=[
            ThresholdRow(r, decimal(rows.unit(r), DIGITS), exact, min_p)
            for r, (exact, min_p) in enumerate(zip(rows.exact.tolist(), rows.min_p.tolist(), strict=True))
        ],
        end=part.end.value,
        source=source.value,
        k=noise.k,
        alpha=str(noise.alpha),
    )


def answer_votes_needed(
    noise: Noise, r: int, p: RationalLike, failure: RationalLike = "0.001", power: RationalLike = "0.9"
) -> PlanAnswer:
    """The least number of votes that certifies r for an input of probability p."""
    found = plan(noise, r, p, failure, power)
    return PlanAnswer(
        r=r,
        n=None if found is None else found.n,
        min_count=None if found is None else found.min_count,
        failure=_text(failure),
        k=noise.k,
        alpha=str(noise.alpha),
        p=_exact_text(p),
        power=_text(power),
    )


def answer_reach(index: ThresholdIndex, noise: Noise, n: int, d: int, failure: RationalLike = "0.001") -> PlanAnswer:
    """The largest radius that n votes can certify: when all of them agree."""
    d = read_dimension(d)
    reached = index.radius(Votes(n, n, failure), noise, d).radius
    return PlanAnswer(
        r=reached,
        n=n,
        min_count=None if reached is None else min_count(noise, reached, n, failure),
        failure=_text(failure),
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
    )


def answer_comparison(
    index: ThresholdIndex, noise: Noise, d: int, p: RationalLike | None = None, r_max: int | None = None
) -> CompareAnswer:
    """The discrete ℓ0 certificate of bits beside the Gaussian one that keeps a bit as often."""
    if noise.k != 1:
        raise InvalidInput("k", "1: the comparison is one of bits", noise.k)
    sigma = sigma_for_alpha(noise.alpha)
    d = read_dimension(d)
    rows: list[ComparedThreshold] = []
    if r_max is not None:
        part, _ = index.thresholds(noise, read_integer(r_max, "r_max", 0, min(d, MOST_COMPARED)))
        rows = [
            ComparedThreshold(
                r,
                decimal(part.rows.unit(min(r, len(part.rows) - 1)), DIGITS),
                gaussian_l0_threshold(sigma, r, DIGITS),
            )
            for r in range(r_max + 1)
        ]
    return CompareAnswer(
        discrete=None if p is None else index.radius(p, noise, d).radius,
        gaussian=None if p is None else gaussian_l0_radius(sigma, p, d),
        sigma=sigma,
        alpha=str(noise.alpha),
        k=noise.k,
        d=d,
        p=None if p is None else _exact_text(p),
        rows=rows,
    )


def answer_tables(index: ThresholdIndex, name: str) -> TablesAnswer:
    """What the table has."""
    columns = [
        TableColumn(noise.k, str(noise.alpha), extent.rows, extent.end.value)
        for noise, extent in index.extents().items()
    ]
    return TablesAnswer(
        table=name, rows=sum(column.rows for column in columns), columns=columns, version=version("ellzero")
    )


def _of_each(index: ThresholdIndex, noise: Noise, p: Sequence[RationalLike], d: int) -> list[RadiusResult]:
    """Each number that is written in the same way is decided once."""
    known: dict[tuple[type, RationalLike], RadiusResult] = {}
    for one in p:
        try:
            if (type(one), one) not in known:
                known[type(one), one] = index.radius(one, noise, d)
        except TypeError:  # what cannot be hashed is no number
            raise InvalidInput("p", "a list of numbers from 0 to 1", one) from None
    return [known[type(one), one] for one in p]


def _of_pairs(
    index: ThresholdIndex,
    noise: Noise,
    p: Sequence[RationalLike],
    p_b: RationalLike | Sequence[RationalLike],
    d: int,
) -> list[RadiusResult]:
    others = p_b if isinstance(p_b, Sequence) and not isinstance(p_b, str) else [p_b] * len(p)
    if len(others) != len(p):
        raise InvalidInput("p_b", f"one value, or as many as p has: {len(p)}", f"{len(others)} values")
    return [index.radius(top, noise, d, other) for top, other in zip(p, others, strict=True)]


def _radius(
    noise: Noise,
    d: int,
    found: RadiusResult,
    reached: int | None = None,
    beyond: int | None = None,
    margin: int | None = None,
    **evidence: Any,
) -> RadiusAnswer:
    return RadiusAnswer(
        radius=found.radius,
        threshold=_decimal(reached),
        next_threshold=_decimal(beyond),
        margin=_decimal(margin),
        source=found.source.value,
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
        **evidence,
    )


def _radii(noise: Noise, d: int, radii: NDArray[np.int32], source: Source) -> RadiiAnswer:
    numbers = [None if radius == ABSTAIN else radius for radius in radii.tolist()]
    return RadiiAnswer(radii=numbers, source=source.value, k=noise.k, alpha=str(noise.alpha), d=d)


def _joint_source(found: Sequence[RadiusResult]) -> Any:
    return (Source.COMPUTED if any(one.source is Source.COMPUTED for one in found) else Source.TABLE).value


def _decimal(units: int | None) -> Decimal | None:
    return None if units is None else decimal(units, DIGITS)


def _exact_text(p: RationalLike) -> str:
    """p as text of exactly its value: a float is the fraction that it is, as clients send it."""
    return str(p) if isinstance(p, str | Decimal) else str(read_probability(p, "p"))


def _text(value: RationalLike) -> str:
    """A number that stands for its shortest decimal."""
    return repr(float(value)) if isinstance(value, float) else str(value)
