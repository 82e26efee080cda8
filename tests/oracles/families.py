"""Hypothesis strategies: families of noises of every kind, with budgets small enough to enumerate all outcomes."""

from fractions import Fraction

from hypothesis import strategies as st
from oracles.strategies import alphas

from ellzero.certificates import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Grouped,
    Hierarchical,
    Joint,
    Mask,
    RegionList,
    Sparse,
    SparseLevels,
    Total,
)
from ellzero.certificates.families.base import Counts
from ellzero.certificates.products import Block, Perturbation


@st.composite
def parameters(draw: st.DrawFn) -> Fraction:
    """Small denominators, so that ratios of different blocks are often powers of the same number, or equal."""
    return draw(st.one_of(alphas(6), alphas(60), st.sampled_from([Fraction(1, 2), Fraction(1, 1000)])))


@st.composite
def simple_families(draw: st.DrawFn) -> Family:
    kind = draw(st.sampled_from(["discrete", "sparse", "flat sparse", "levels", "mask"]))
    first, second = draw(parameters()), draw(parameters())
    if kind == "discrete":
        return Discrete(draw(st.integers(1, 3)), first)
    if kind == "sparse":
        return Sparse(first, second)
    if kind == "flat sparse":
        return Sparse(first, 1 - first)
    if kind == "levels":
        return SparseLevels(draw(st.integers(1, 3)), first, second)
    return Mask(first)


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Any family whose coordinates are struck independently, nested up to twice."""
    kind = draw(st.sampled_from(["simple", "hierarchical", "joint", "grouped", "total"]))
    simple = draw(simple_families())
    if kind == "hierarchical":
        return Hierarchical(simple, draw(parameters()))
    if kind == "total":
        return Total(simple)
    if kind == "joint":
        other = draw(simple_families())
        return Joint(first=simple, second=Hierarchical(other, draw(parameters())) if draw(st.booleans()) else other)
    if kind == "grouped":
        single = simple_families().filter(lambda family: len(family.axes) == 1)
        members = draw(st.lists(st.tuples(single, st.integers(1, 2)), min_size=1, max_size=2))
        return Grouped(members)
    return simple


@st.composite
def all_families(draw: st.DrawFn) -> Family:
    """Any family, also those that do not strike each coordinate by itself."""
    kind = draw(st.sampled_from(["product", "product", "ablation", "deletion", "regions"]))
    if kind == "ablation":
        d = draw(st.integers(1, 5))
        return Ablation(d, draw(st.integers(1, d)))
    if kind == "deletion":
        return Deletion(draw(parameters()))
    if kind == "regions":
        masses = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=3)
        return RegionList([balance(draw(masses)) for _ in range(draw(st.integers(1, 3)))])
    return draw(families())


def balance(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The regions, with one more so that their masses have the same sum under x and under x̄."""
    more = sum(x for x, _ in pairs) - sum(xbar for _, xbar in pairs)
    return [*pairs, (max(-more, 0), max(more, 0))]


@st.composite
def columns(draw: st.DrawFn, total: int = 3) -> tuple[Family, Fraction, Counts, int]:
    """A family, q, the counts of all axes but the last, and the largest count of that one."""
    family = draw(all_families())
    q = draw(st.one_of(st.just(Fraction(1, 2)), st.sampled_from([Fraction(1, 3), Fraction(9, 10)]), parameters()))
    if isinstance(family, Discrete):
        q = q if q != Fraction(1, 2) else Fraction(1, 3)
    *fixed, last = draw(budgets(family, total))
    return family, q, tuple(fixed), last


@st.composite
def budgets(draw: st.DrawFn, family: Family, total: int = 4) -> Counts:
    """Counts of at most ``total`` changes in all, few enough to enumerate."""
    counts = [0] * len(family.axes)
    for _ in range(draw(st.integers(0, total))):
        axis = draw(st.integers(0, len(counts) - 1))
        most = family.most[axis]
        if most is None or counts[axis] < most:
            counts[axis] += 1
    return tuple(counts)


@st.composite
def line_perturbations(draw: st.DrawFn, most: int = 6) -> Perturbation:
    """Blocks whose ratios lie on a line, C·c^t with a C for each block, some with outcomes of ratio 0 and ∞."""
    c = Fraction(draw(st.integers(3, 9)), draw(st.integers(1, 2)))
    return tuple((draw(_line_blocks(c)), draw(st.integers(1, most))) for _ in range(draw(st.integers(1, 3))))


@st.composite
def _line_blocks(draw: st.DrawFn, c: Fraction) -> Block:
    largest = draw(st.sampled_from([4, 2**20, 2**120]))  # with the last, few changes need thousands of bits
    places = draw(st.dictionaries(st.integers(0, 4), st.integers(1, largest), min_size=1, max_size=4))
    stretch = draw(st.sampled_from([1, 1, 2]))
    under_x = {t: mass * c ** (stretch * t) for t, mass in places.items()}
    x, xbar = sum(under_x.values()), sum(places.values())
    kept_x, kept_xbar = (
        draw(st.sampled_from([Fraction(1), Fraction(1), Fraction(9, 10), Fraction(1, 3)])) for _ in "xx"
    )
    outcomes = [(kept_x * under_x[t] / x, kept_xbar * Fraction(mass, xbar)) for t, mass in places.items()]
    return Block([*outcomes, (1 - kept_x, Fraction(0)), (Fraction(0), 1 - kept_xbar)])


@st.composite
def cases(draw: st.DrawFn, total: int = 4) -> tuple[Family, Counts]:
    family = draw(families())
    return family, draw(budgets(family, total))
