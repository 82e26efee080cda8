"""ρ, ρ⁻¹ and thresholds of any family of noises, for any budget of changes.

A prediction with probability p at x holds at every x̄ within the budget iff p > τ = ρ⁻¹(1/2). ρ⁻¹ at other q answers
other questions: 1/(k+1) keeps a class among the first k, 1 − ε keeps a conformal set valid. Everything is exact, and
what is rounded goes up.
"""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import inf, nextafter, prod
from typing import Literal, TypeVar

from ellzero.certificates import exact_thresholds
from ellzero.certificates._balls import Undecided, ball, decide, sign
from ellzero.certificates.families.base import Budget, Counts, Family, read_counts
from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.lee2019 import paper_threshold
from ellzero.certificates.neyman_pearson import Mass, Region, divide, rho_inverse_parts
from ellzero.certificates.products import Perturbation, Products
from ellzero.certificates.rounding import DOUBLE_BITS, Ceiling, Row
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import (
    RationalLike,
    read_digits,
    read_dimension,
    read_integer,
    read_probability,
    scaled_decimal,
)

Method = Literal["engine", "paper"]
B = TypeVar("B", bound=Budget)
T = TypeVar("T")

HALF = Fraction(1, 2)
_LEAST_BITS, _MOST_BITS = 64, 512


def regions(family: Family, budget: Budget) -> Iterator[Region]:
    """The regions of a budget as integers in one unit, in descending order of likelihood ratio.

    Raises if the budget can be spent in several ways, each with regions of its own (`Grouped`, `RegionList`).
    """
    ordered = list(family.ordered_regions(read_counts(family, budget), Products()))
    if len(ordered) != 1:
        raise InvalidInput("family", "one whose budget can be spent in a single way", family)
    return (Region(int(x), int(xbar)) for x, xbar in ordered[0].regions)


def rho(family: Family, budget: Budget, p: RationalLike) -> Fraction:
    """ρ(p): the least probability at any x̄ that differs from x by the budget, given probability p at x. Exact.

    >>> from ellzero.certificates.families import Joint, Sparse
    >>> graph = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))
    >>> float(rho(graph, {"edges": {"add": 1}, "attributes": {"add": 1, "delete": 1}}, "0.99"))
    0.4797090909090909
    """
    return rho_of_counts(family, read_counts(family, budget), read_probability(p, "p"), Products())


def rho_inverse(family: Family, budget: Budget, q: RationalLike) -> Fraction:
    """ρ⁻¹(q) = sup{p : ρ(p) ≤ q}; at q = 1/2 the threshold τ. Exact, at the cost of `rho`."""
    return inverse_of_counts(family, read_counts(family, budget), read_probability(q, "q"), Products())


def threshold(family: Family, budget: Budget, q: RationalLike = HALF, digits: int = 20) -> Decimal:
    """⌈ρ⁻¹(q)·10^digits⌉/10^digits: a p above it certifies the budget; at q = 1/2 against every other class.

    1 where p would have to exceed ρ⁻¹(q) > 1 − 10^-digits. It may be 1 exactly, if what both inputs can show is too
    little: then no p certifies the budget, and `min_p` is infinite.
    """
    return thresholds(family, [budget], digits, q=q)[0]


def thresholds(
    family: Family,
    budgets: Iterable[Budget],
    digits: int = 20,
    *,
    q: RationalLike = HALF,
    method: Method = "engine",
    d: int | None = None,
) -> list[Decimal]:
    """`threshold` for each budget, in the order given; for a square of budgets, go through it row by row.

    With ``method="paper"`` they come from the published algorithm for discrete noise on inputs of ``d`` coordinates
    instead: upper bounds within `lee2019.PaperThreshold.error_bound`.

    >>> thresholds(Discrete(1, "4/5"), [1, 4], digits=5)
    [Decimal('0.87500'), Decimal('0.99275')]
    """
    all_counts = [read_counts(family, budget) for budget in budgets]
    digits, target = read_digits(digits), read_probability(q, "q")
    if d is not None:
        d = read_dimension(d)
        for counts in all_counts:
            read_integer(sum(counts), "budget", 0, d)
    if method == "paper":
        if d is None:
            raise InvalidInput("d", "given for the paper's method, which works on the whole space", d)
        if not isinstance(family, Discrete) or target != HALF:
            raise InvalidInput("method", "'engine' for other families, and other q, than the paper's", method)
        return [paper_threshold(family, d, r, digits).value for (r,) in all_counts]
    if method != "engine":
        raise InvalidInput("method", "'engine' or 'paper'", method)
    if isinstance(family, Discrete) and target == HALF:
        return exact_thresholds.thresholds(family, [r for (r,) in all_counts], digits)
    products = Products()
    return [round_up(family, counts, target, digits, products) for counts in all_counts]


def min_p(family: Family, budget: Budget, q: RationalLike = HALF) -> float:
    """The least double > ρ⁻¹(q): a double p certifies the budget iff p ≥ it. Infinite if ρ⁻¹(q) = 1: no p does."""
    counts, target = read_counts(family, budget), read_probability(q, "q")
    if isinstance(family, Discrete) and target == HALF:
        return exact_thresholds.min_p(family, *counts)
    return min_p_of_counts(family, counts, target, Products())


def rho_of_counts(family: Family, counts: Counts, p: Fraction, products: Products) -> Fraction:
    """`rho` for a budget that was read before."""
    return min(ordered.rho(p) for ordered in family.ordered_regions(counts, products))


def exceeds(family: Family, counts: Counts, p: Fraction, q: Fraction, products: Products) -> bool:
    """p > ρ⁻¹(q), for a budget that was read before, without reducing ρ⁻¹(q): that may take longer than the rest."""

    def is_below(numerator: Mass, denominator: Mass) -> bool:
        return bool(p.numerator * denominator > numerator * p.denominator)

    return all(_answer(family, counts, q, is_below, DOUBLE_BITS, products))


def round_up(family: Family, counts: Counts, q: Fraction, digits: int, products: Products) -> Decimal:
    """`threshold` for a budget that was read before."""
    scale = 10**digits

    def ceiling(numerator: Mass, denominator: Mass) -> int:
        return int(-(-numerator * scale // denominator))

    return scaled_decimal(max(_answer(family, counts, q, ceiling, scale.bit_length(), products)), digits)


def min_p_of_counts(family: Family, counts: Counts, q: Fraction, products: Products) -> float:
    """`min_p` for a budget that was read before."""
    return max(_answer(family, counts, q, least_double_above, DOUBLE_BITS, products))


def row_of_counts(family: Family, counts: Counts, q: Fraction, digits: int, products: Products) -> Row:
    """`threshold` and `min_p` for a budget that was read before, and whether the threshold is ρ⁻¹(q) exactly."""
    # Nothing in a row falls as ρ⁻¹(q) grows: of equal ceilings, those that are exact are the largest.
    return max(_answer(family, counts, q, partial(_make_row, digits), _row_bits(digits), products))


def row_by_product(family: Family, counts: Counts, q: Fraction, digits: int) -> Row:
    """`row_of_counts` by the general product of the blocks alone: to check rows that were computed otherwise."""
    products = Products()
    ordered = (products.regions(perturbation) for perturbation in family.perturbations(counts))
    return max(_make_row(digits, *rho_inverse_parts(*each, q)) for each in ordered)


def is_saturated_within(family: Family, counts: Counts, q: Fraction, digits: int) -> bool:
    """Whether the threshold of a half, a quarter, … of the changes of a budget rounds up to 1: then its own does too.

    Those that do not are so small beside it that looking at them, the smallest first, hardly takes longer than its
    product; and that may take gigabytes where one of them says enough.
    """
    smaller = (tuple(count >> shift for count in counts) for shift in range(max(counts).bit_length() - 1, 0, -1))
    return any(row_by_product(family, each, q, digits).ceiling.units == 10**digits for each in smaller)


def row_at_saturation(family: Family, counts: Counts, q: Fraction, digits: int) -> Row:
    """The row of a budget whose threshold is known to round up to 1, without any product: ρ⁻¹(q) = 1 iff ρ(1) ≤ q.

    For 16 digits or more: then no double lies between a threshold that rounds up to 1 and 1.
    """
    never = not exceeds_at_one(family, counts, q)
    return Row(Ceiling(10**digits, never), inf if never else 1.0)


def exceeds_at_one(family: Family, counts: Counts, q: Fraction) -> bool:
    """ρ(1) > q, the rule for p = 1, for a budget that was read before: without any product of regions.

    ρ(1) is how much of what x̄ shows x may show too: a product of powers, so that logarithms decide.
    """
    return all(_common_mass_exceeds(perturbation, q) for perturbation in family.list_perturbations(counts))


def _common_mass_exceeds(perturbation: Perturbation, q: Fraction) -> bool:
    powers = [(block.common_mass, count) for block, count in perturbation if block.common_mass < 1]
    if any(mass == 0 for mass, _ in powers):
        return False
    if q == 0:
        return True

    def attempt(bits: int) -> int:
        return sign(sum((count * ball(mass).log() for mass, count in powers), start=-ball(q).log()))

    try:
        return decide(attempt, _LEAST_BITS, _MOST_BITS) > 0
    except Undecided:  # equal, almost certainly
        return prod((mass**count for mass, count in powers), start=Fraction(1)) > q


def inverse_of_counts(family: Family, counts: Counts, q: Fraction, products: Products) -> Fraction:
    """`rho_inverse` for a budget that was read before."""
    return max(divide(*ordered.inverse_parts(q)) for ordered in family.ordered_regions(counts, products))


def _answer(
    family: Family, counts: Counts, q: Fraction, question: Callable[[Mass, Mass], T], bits: int, products: Products
) -> Iterator[T]:
    """What the question, whose resolution is so many bits, says of ρ⁻¹(q) for each way to spend the budget."""
    return (ordered.answer(q, question, bits) for ordered in family.ordered_regions(counts, products))


def _make_row(digits: int, numerator: Mass, denominator: Mass) -> Row:
    units, rest = divmod(-numerator * 10**digits, denominator)
    return Row(Ceiling(-int(units), rest == 0), least_double_above(numerator, denominator))


def _row_bits(digits: int) -> int:
    bits: int = (10**digits).bit_length()
    return max(bits, DOUBLE_BITS)


def least_double_above(numerator: Mass, denominator: Mass) -> float:
    """The least double above a fraction in [0, 1], which need not be reduced; infinite for 1."""
    numerator, denominator = int(numerator), int(denominator)
    if numerator == denominator:
        return inf
    nearest = numerator / denominator  # of integers of any size: the nearest double
    above, below = nearest.as_integer_ratio()
    return nearest if above * denominator > numerator * below else nextafter(nearest, inf)
