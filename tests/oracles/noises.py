"""Noises carried out literally on single inputs, outcome by outcome in Fractions, and the worst classifier for a pair.

Slow, and sharing no code with the product: what a noise does is written here a second time, coordinate by coordinate.
"""

from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

from ellzero.certificates import (
    Ablation,
    Block,
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

Distribution = dict[Hashable, Fraction]
Pair = tuple[Distribution, Distribution]
"""What noisy copies of x and of x̄ look like."""
Masses = list[tuple[Fraction, Fraction]]


def coordinate(family: Family, value: int) -> Distribution:
    """What a coordinate of this value becomes."""
    if isinstance(family, Discrete):
        return {
            other: family.alpha if other == value else (1 - family.alpha) / family.k for other in range(family.k + 1)
        }
    if isinstance(family, Sparse):
        changes = family.p_del if value else family.p_add
        return {value: 1 - changes, 1 - value: changes}
    if isinstance(family, SparseLevels):
        changes = family.p_del if value else family.p_add
        return {other: 1 - changes if other == value else changes / family.k for other in range(family.k + 1)}
    if isinstance(family, Mask):
        return {value: 1 - family.m, "hidden": family.m}
    if isinstance(family, Hierarchical):
        inner = coordinate(family.base, value)
        return {("left", value): 1 - family.s} | {("struck", new): family.s * mass for new, mass in inner.items()}
    raise TypeError(family)


def changed_values(family: Family, counts: Sequence[int]) -> list[tuple[int, int]]:
    """Values under x and under x̄ of the coordinates that a budget of this family changes."""
    if isinstance(family, Hierarchical):
        return changed_values(family.base, counts)
    kinds = [(0, 1), (1, 0), (1, 2)] if isinstance(family, Sparse | SparseLevels) else [(0, 1)]
    return [pair for pair, count in zip(kinds, counts, strict=False) for _ in range(count)]


def coordinates(family: Family, counts: Sequence[int]) -> Iterator[list[Pair]]:
    """For each way to spend the budget, the changed coordinates."""
    if isinstance(family, Joint):
        members, start = [], 0
        for _, member in family.members:
            members.append(list(coordinates(member, counts[start : start + len(member.axes)])))
            start += len(member.axes)
        for choice in product(*members):
            yield [pair for part in choice for pair in part]
    elif isinstance(family, Total):
        for split in product(range(counts[0] + 1), repeat=len(family.base.axes)):
            if sum(split) <= counts[0] and all(
                most is None or count <= most for count, most in zip(split, family.base.most, strict=True)
            ):
                yield from coordinates(family.base, split)
    elif isinstance(family, Grouped):
        for split in product(*(range(columns + 1) for _, columns in family.members)):
            if sum(split) <= counts[0]:
                yield [
                    pair
                    for (member, _), count in zip(family.members, split, strict=True)
                    for pair in next(coordinates(member, [count]))
                ]
    else:
        yield [(coordinate(family, here), coordinate(family, there)) for here, there in changed_values(family, counts)]


def masses(pairs: Sequence[Pair]) -> Masses:
    """Every outcome of all coordinates together, by its probability under x and under x̄."""
    result = [(Fraction(1), Fraction(1))]
    for at_x, at_xbar in pairs:
        shown = [(at_x.get(each, Fraction(0)), at_xbar.get(each, Fraction(0))) for each in at_x | at_xbar]
        result = [(x * p, xbar * q) for x, xbar in result for p, q in shown]
    return result


def _list_outcomes(block: Block) -> Masses:
    return [(Fraction(x), Fraction(xbar)) for x, xbar in block.outcomes]


def ways(family: Family, counts: Sequence[int]) -> list[Masses]:
    (first, *_) = counts
    if isinstance(family, RegionList):
        return [[(Fraction(1), Fraction(1))], *(_list_outcomes(block) for block in family.blocks[:first])]
    if isinstance(family, Ablation):
        here, there = [0] * family.d, [1] * first + [0] * (family.d - first)
        return [masses([(ablations(here, family.keep), ablations(there, family.keep))])]
    if isinstance(family, Deletion):  # no symbol occurs twice, so that what is left says which are gone
        return [masses([(deletions(range(first), family.m), deletions(range(first, 2 * first), family.m))])]
    return [masses(pairs) for pairs in coordinates(family, counts)]


def ablations(x: Sequence[int], keep: int) -> Distribution:
    """What inputs look like when all coordinates but ``keep``, chosen uniformly, are hidden."""
    kept = list(combinations(range(len(x)), keep))
    result: Distribution = {}
    for places in kept:
        shown = tuple((place, x[place]) for place in places)
        result[shown] = result.get(shown, Fraction(0)) + Fraction(1, len(kept))
    return result


def deletions(x: Sequence[int], m: Fraction) -> Distribution:
    """What sequences look like when each symbol is deleted with probability m."""
    result: Distribution = {}
    for stays in product([True, False], repeat=len(x)):
        left = tuple(symbol for symbol, stay in zip(x, stays, strict=True) if stay)
        mass = (1 - m) ** sum(stays) * m ** (len(x) - sum(stays))
        result[left] = result.get(left, Fraction(0)) + mass
    return result


def edit_distance(first: Sequence[int], second: Sequence[int]) -> int:
    row = list(range(len(second) + 1))
    for i, symbol in enumerate(first, 1):
        above, row = row, [i]
        for j, other in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (symbol != other)))
    return row[-1]


def rho(outcomes: Masses, p: Fraction) -> Fraction:
    """The least probability under x̄ of a set (with a fraction of one outcome) of probability p under x."""
    least = Fraction(0)
    for x, xbar in sorted((each for each in outcomes if each[0]), key=lambda each: each[1] / each[0]):
        taken = min(x, p)
        p -= taken
        least += xbar * taken / x
    return least


def rho_inverse(outcomes: Masses, q: Fraction) -> Fraction:
    """The largest probability under x of a set of probability at most q under x̄."""
    most = sum((x for x, xbar in outcomes if not xbar), start=Fraction(0))
    for x, xbar in sorted((each for each in outcomes if each[1]), key=lambda each: each[0] / each[1], reverse=True):
        taken = min(xbar, q)
        q -= taken
        most += x * taken / xbar
    return most


def least_rho(family: Family, counts: Sequence[int], p: Fraction) -> Fraction:
    """ρ(p) over all ways to spend the budget."""
    return min(rho(outcomes, p) for outcomes in ways(family, counts))


def largest_inverse(family: Family, counts: Sequence[int], q: Fraction) -> Fraction:
    """ρ⁻¹(q) over all ways to spend the budget."""
    return max(rho_inverse(outcomes, q) for outcomes in ways(family, counts))
