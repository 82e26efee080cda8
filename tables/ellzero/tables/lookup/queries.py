"""Answers from an index, with their reasons, as the local client and the service return them.

Each answer is that of exact arithmetic, even where the table has no row; its `Source` says whether anything had to be
computed.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ellzero.certificates import (
    Discrete,
    Family,
    Votes,
    gaussian_l0_radius,
    gaussian_l0_threshold,
    lower_bound,
    min_count,
    plan,
    sigma_for_alpha,
)
from ellzero.certificates.families.base import Counts
from ellzero.core.conventions import DEFAULT_FAILURE, DEFAULT_POWER
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_dimension, read_integer, read_probability, scaled_decimal
from ellzero.core.schemas import (
    CompareAnswer,
    ComparedThreshold,
    PlanAnswer,
    RadiiAnswer,
    RadiiArray,
    RadiusAnswer,
    Source,
    TableBudgets,
    TableColumn,
    TablesAnswer,
    ThresholdRow,
    ThresholdsAnswer,
    combine_sources,
)
from ellzero.tables.format.rows import DIGITS, SCALE
from ellzero.tables.lookup.index import ThresholdIndex
from ellzero.tables.lookup.results import ABSTAIN, ColumnResult, RadiusResult

MOST_COMPARED = 10_000


def answer_probability(index: ThresholdIndex, noise: Discrete, p: RationalLike, d: int) -> RadiusAnswer:
    """The radius of a probability, and the thresholds it lies between."""
    exact = read_probability(p, "p")
    return explain_probability(noise, exact, d, index.radius(exact, noise, d), write_exact_text(p))


def explain_probability(noise: Discrete, p: Fraction, d: int, result: RadiusResult, text: str) -> RadiusAnswer:
    """The radius of p with the thresholds it lies between; ``text`` is p as it was written."""
    radius, source, ceiling, next_ceiling = result
    margin = None if ceiling is None else max(p.numerator * SCALE // p.denominator - ceiling, 0)
    return RadiusAnswer(
        radius=radius,
        threshold=_decimal(ceiling),
        next_threshold=_decimal(next_ceiling),
        margin=_decimal(margin),
        source=source,
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
        p=text,
    )


def answer_two_classes(
    index: ThresholdIndex, noise: Discrete, p: RationalLike, p_b: RationalLike, d: int
) -> RadiusAnswer:
    """The radius of a probability against at most p_b for every other class."""
    result = index.radius(p, noise, d, p_b)
    return RadiusAnswer(
        radius=result.radius,
        threshold=None,
        next_threshold=None,
        margin=None,
        source=result.source,
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
        p=write_exact_text(p),
        p_b=write_exact_text(p_b),
    )


def answer_votes(index: ThresholdIndex, noise: Discrete, votes: Votes, d: int) -> RadiusAnswer:
    """The radius of votes, the thresholds around it, and the least counts that certify it and the next radius."""
    result = index.radius(votes, noise, d)
    low = Fraction(lower_bound(votes))
    scaled_low = low.numerator * SCALE // low.denominator
    ceiling = result.scaled_ceiling
    following = 0 if result.radius is None else result.radius + 1
    return RadiusAnswer(
        radius=result.radius,
        threshold=_decimal(ceiling),
        next_threshold=_decimal(result.next_scaled_ceiling),
        margin=None if ceiling is None else _decimal(max(scaled_low - ceiling, 0)),
        source=result.source,
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
        count=votes.count,
        n=votes.n,
        failure=str(votes.failure),
        p_lower=_decimal(scaled_low),
        min_count=None if result.radius is None else min_count(noise, result.radius, votes.n, votes.failure),
        next_min_count=min_count(noise, following, votes.n, votes.failure) if following <= d else None,
    )


def answer_list(
    index: ThresholdIndex,
    noise: Discrete,
    p: Sequence[RationalLike],
    d: int,
    p_b: RationalLike | Sequence[RationalLike] | None = None,
) -> RadiiAnswer:
    """The radii of many probabilities: floats count as their exact values, everything else is read exactly."""
    if p_b is not None:
        results = _look_up_pairs(index, noise, p, p_b, d)
    elif set(map(type, p)) == {float}:
        radii, source = index.radius(np.array(p, np.float64), noise, d)
        return _radii_answer(noise, d, radii, source)
    else:
        results = _look_up_each(index, noise, p, d)
    return RadiiAnswer(
        radii=[result.radius for result in results],
        source=combine_sources([result.source for result in results]),
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
    )


def answer_counts(
    index: ThresholdIndex, noise: Discrete, counts: Sequence[int], n: int, failure: RationalLike, d: int
) -> RadiiAnswer:
    """The radii of many counts of n votes each."""
    n = Votes(0, n, failure).n
    array = np.array([read_integer(count, "count", 0, n) for count in counts], np.int64)
    radii, source = index.radii_of_counts(array, n, failure, noise, d)
    return _radii_answer(noise, d, radii, source)


def answer_array(
    index: ThresholdIndex,
    noise: Discrete,
    values: NDArray[Any],
    d: int,
    n: int | None = None,
    failure: RationalLike = DEFAULT_FAILURE,
    p_b: RationalLike | Sequence[RationalLike] | None = None,
) -> RadiiArray:
    """The radii of an array, in its shape: of probabilities, optionally with p_b, or of counts if n is given."""
    if n is not None:
        radii, source = index.radii_of_counts(values, n, failure, noise, d)
    elif p_b is None:
        radii, source = index.radius(values, noise, d)
    else:
        results = _look_up_pairs(index, noise, values.ravel().tolist(), p_b, d)
        radii, source = (
            np.array([result.number for result in results], np.int32).reshape(values.shape),
            combine_sources([result.source for result in results]),
        )
    return RadiiArray(radii=radii, source=source, k=noise.k, alpha=str(noise.alpha), d=d)


def answer_thresholds(index: ThresholdIndex, noise: Discrete, r_max: int | None = None) -> ThresholdsAnswer:
    """τ_0 … τ_{r_max}, or up to saturation."""
    return answer_column(index.thresholds(noise, r_max))


def answer_column(result: ColumnResult) -> ThresholdsAnswer:
    """A column as an answer."""
    column, source = result
    rows, noise = column.rows, column.noise
    return ThresholdsAnswer(
        rows=[
            ThresholdRow(r, scaled_decimal(rows.scaled_ceiling(r), DIGITS), exact, min_p)
            for r, (exact, min_p) in enumerate(zip(rows.exact.tolist(), rows.min_p.tolist(), strict=True))
        ],
        end=column.end.value,
        source=source,
        k=noise.k,
        alpha=str(noise.alpha),
    )


def answer_votes_needed(
    noise: Discrete,
    r: int,
    p: RationalLike,
    failure: RationalLike = DEFAULT_FAILURE,
    power: RationalLike = DEFAULT_POWER,
) -> PlanAnswer:
    """The least number of votes that certifies r for an input of probability p."""
    least_votes = plan(noise, r, p, failure, power)
    return PlanAnswer(
        r=r,
        n=None if least_votes is None else least_votes.n,
        min_count=None if least_votes is None else least_votes.min_count,
        failure=write_text(failure),
        k=noise.k,
        alpha=str(noise.alpha),
        p=write_exact_text(p),
        power=write_text(power),
    )


def answer_reach(
    index: ThresholdIndex, noise: Discrete, n: int, d: int, failure: RationalLike = DEFAULT_FAILURE
) -> PlanAnswer:
    """The largest radius that n votes can certify: when all of them agree."""
    d = read_dimension(d)
    radius = index.radius(Votes(n, n, failure), noise, d).radius
    return PlanAnswer(
        r=radius,
        n=n,
        min_count=None if radius is None else min_count(noise, radius, n, failure),
        failure=write_text(failure),
        k=noise.k,
        alpha=str(noise.alpha),
        d=d,
    )


def answer_comparison(
    index: ThresholdIndex, noise: Discrete, d: int, p: RationalLike | None = None, r_max: int | None = None
) -> CompareAnswer:
    """The discrete ℓ0 certificate of bits beside that of the Gaussian noise that keeps a bit as often."""
    if noise.k != 1:
        raise InvalidInput("k", "1: the comparison is for bits", noise.k)
    sigma = sigma_for_alpha(noise.alpha)
    d = read_dimension(d)
    rows: list[ComparedThreshold] = []
    if r_max is not None:
        column, _ = index.thresholds(noise, read_integer(r_max, "r_max", 0, min(d, MOST_COMPARED)))
        rows = [
            ComparedThreshold(
                r,
                scaled_decimal(column.rows.scaled_ceiling(min(r, len(column.rows) - 1)), DIGITS),
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
        p=None if p is None else write_exact_text(p),
        rows=rows,
    )


def answer_tables(index: ThresholdIndex, name: str) -> TablesAnswer:
    """What the table has."""
    columns = [
        TableColumn(noise.k, str(noise.alpha), extent.rows, extent.end.value)
        for noise, extent in index.extents().items()
    ]
    families = [
        TableBudgets(group.family.describe(), str(group.q), group.rows, write_budget(group.family, group.largest))
        for group in index.budget_extents()
    ]
    return TablesAnswer(
        table=name,
        rows=sum(column.rows for column in columns) + sum(group.rows for group in families),
        columns=columns,
        families=families,
        version=version("ellzero"),
    )


def write_budget(family: Family, counts: Counts) -> int | dict[str, Any]:
    """A budget as answers have it: a number where there is one kind of change."""
    budget = family.write_budget(counts)
    return budget if isinstance(budget, int) else dict(budget)


def _look_up_each(index: ThresholdIndex, noise: Discrete, p: Sequence[RationalLike], d: int) -> list[RadiusResult]:
    """The radius of each number; numbers written the same way are looked up once."""
    results: dict[tuple[type, RationalLike], RadiusResult] = {}
    for value in p:
        try:
            if (type(value), value) not in results:
                results[type(value), value] = index.radius(value, noise, d)
        except TypeError:  # a value that cannot be hashed is not a number
            raise InvalidInput("p", "a list of numbers from 0 to 1", value) from None
    return [results[type(value), value] for value in p]


def _look_up_pairs(
    index: ThresholdIndex,
    noise: Discrete,
    p: Sequence[RationalLike],
    p_b: RationalLike | Sequence[RationalLike],
    d: int,
) -> list[RadiusResult]:
    others = p_b if isinstance(p_b, Sequence) and not isinstance(p_b, str) else [p_b] * len(p)
    if len(others) != len(p):
        raise InvalidInput("p_b", f"one value, or as many as p has: {len(p)}", f"{len(others)} values")
    return [index.radius(top, noise, d, other) for top, other in zip(p, others, strict=True)]


def _radii_answer(noise: Discrete, d: int, radii: NDArray[np.int32], source: Source) -> RadiiAnswer:
    numbers = [None if radius == ABSTAIN else radius for radius in radii.tolist()]
    return RadiiAnswer(radii=numbers, source=source, k=noise.k, alpha=str(noise.alpha), d=d)


def _decimal(scaled: int | None) -> Decimal | None:
    return None if scaled is None else scaled_decimal(scaled, DIGITS)


def write_exact_text(p: RationalLike) -> str:
    """p as text of its exact value, as clients send it: a float is written as a fraction."""
    return str(p) if isinstance(p, str | Decimal) else str(read_probability(p, "p"))


def write_text(value: RationalLike) -> str:
    """A number as text; a float stands for its shortest decimal."""
    return repr(float(value)) if isinstance(value, float) else str(value)
