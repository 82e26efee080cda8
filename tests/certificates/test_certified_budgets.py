"""What a family certifies: exactly the budgets that the rule proves, each tested alone against enumeration."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given, settings, strategies as st
from oracles import brute_force, noises
from oracles.families import families, parameters, simple_families
from oracles.strategies import probabilities

from ellzero.certificates import (
    Ablation,
    Discrete,
    Family,
    Grouped,
    InvalidInput,
    Joint,
    Mask,
    RegionList,
    Sparse,
    Total,
    Votes,
    anytime_certified,
    anytime_radius,
    certified,
    certified_from_votes,
    plan_looks,
    radius,
    radius_from_votes,
    regions,
    rho,
    staged_certified,
    staged_radius,
    threshold,
)
from ellzero.certificates.certified_budgets import CertifiedBudgets, find_staircase
from ellzero.certificates.families.base import Counts

GRAPH = Joint(edges=Sparse("0.01", "0.6"), attributes=Sparse("0.001", "0.8"))
GRAPH_LIMITS = {"edges": {"add": 3, "delete": 6}, "attributes": {"add": 3, "delete": 6}}


WORDS = Sparse("0.01", "0.6")


def crowd(size: int) -> Joint:
    """Families whose ratios have nothing in common."""
    return Joint(**{f"m{i}": Sparse(Fraction(i + 1, 1_000 + 7 * i), Fraction(3 * i + 2, 100 + i)) for i in range(size)})


def staircase_of(size: int) -> RegionList:
    return RegionList([[(i + 1, size - i) for i in range(size)]])


@st.composite
def limited(draw: st.DrawFn) -> tuple[Family, Counts]:
    """A family and limits: at most three changes of two kinds, or two of more."""
    family = draw(families())
    largest = 3 if len(family.axes) <= 2 else 1
    limits = [draw(st.integers(0, largest)) for _ in family.axes]
    return family, tuple(
        limit if most is None else min(limit, most) for limit, most in zip(limits, family.most, strict=True)
    )


def read(family: Family, budgets: CertifiedBudgets) -> set[Counts]:
    if budgets is None:
        return set()
    return {family.read_budget(each) for each in (budgets if isinstance(budgets, tuple) else (budgets,))}


def within(limits: Counts) -> list[Counts]:
    return list(product(*(range(limit + 1) for limit in limits)))


def largest(counts: list[Counts]) -> set[Counts]:
    """Those within no other."""
    return {
        one
        for one in counts
        if not any(one != other and all(a <= b for a, b in zip(one, other, strict=True)) for other in counts)
    }


@settings(max_examples=60)
@given(limited(), st.one_of(probabilities(1_000), st.sampled_from([Fraction(1), Fraction("0.999")])), st.integers(1, 3))
def test_the_largest_budgets_are_those_of_every_budget_tested_alone(
    case: tuple[Family, Counts], p: Fraction, top_k: int
) -> None:
    family, limits = case
    target = Fraction(1, top_k + 1)
    passing = [counts for counts in within(limits) if p > noises.largest_inverse(family, counts, target)]
    assert read(family, certified(family, p, family.write_budget(limits), top_k=top_k)) == largest(passing)


@settings(max_examples=60)
@given(limited(), st.integers(1, 60), st.data(), st.sampled_from(["0.001", "0.05", "0.4"]))
def test_votes_certify_the_budgets_that_their_tail_excludes(
    case: tuple[Family, Counts], n: int, data: st.DataObject, failure: str
) -> None:
    family, limits = case
    count = data.draw(st.one_of(st.integers(max(0, n - 5), n), st.integers(0, n)))
    passing = [
        counts
        for counts in within(limits)
        if brute_force.binomial_tail(n, count, noises.largest_inverse(family, counts, Fraction(1, 2)))
        < Fraction(failure)
    ]
    votes = Votes(count, n, failure)
    assert read(family, certified_from_votes(family, votes, family.write_budget(limits))) == largest(passing)


@settings(max_examples=40)
@given(limited(), st.integers(200, 2_000), st.data())
def test_looks_certify_what_any_of_them_certifies(case: tuple[Family, Counts], n: int, data: st.DataObject) -> None:
    family, limits = case
    looks = plan_looks(n, "0.01")
    misses = data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=len(looks)))
    counts, count, votes = list[int](), 0, 0
    for look, missed in zip(looks, misses, strict=False):
        count += max(0, look.n - votes - missed)
        votes = look.n
        counts.append(count)
    budget = family.write_budget(limits)
    each = [
        read(family, certified_from_votes(family, Votes(count, look.n, look.failure), budget))
        for count, look in zip(counts, looks, strict=False)
    ]
    assert read(family, staged_certified(family, counts, n, budget, "0.01")) == largest(list(set().union(*each)))


@settings(max_examples=40)
@given(limited(), st.integers(1, 3_000), st.integers(0, 40))
def test_a_confidence_sequence_certifies_what_lies_below_its_bound(
    case: tuple[Family, Counts], n: int, missed: int
) -> None:
    """Its bound is looser than that of a fixed number of votes, and decides in the same way for every budget."""
    family, limits = case
    votes, budget = Votes(max(0, n - missed), n, "0.01"), family.write_budget(limits)
    found = read(family, anytime_certified(family, votes, budget))
    fixed = read(family, certified_from_votes(family, votes, budget))
    assert all(any(all(a <= b for a, b in zip(one, other, strict=True)) for other in fixed) for one in found)
    if isinstance(family, Discrete):
        found_radius = anytime_radius(family, votes, limits[0]) if limits[0] else None
        assert not limits[0] or found == (set() if found_radius is None else {(found_radius,)})


@given(parameters(), st.integers(1, 9), probabilities(10_000), st.integers(1, 30))
def test_discrete_noise_as_a_member_has_the_radii_that_it_has_alone(
    alpha: Fraction, k: int, p: Fraction, d: int
) -> None:
    alone, member = Discrete(k, alpha), Joint(only=Discrete(k, alpha))
    assert certified(member, p, d) == certified(alone, p, d) == radius(alone, p, d)
    p_b = (1 - p) / 3
    assert certified(member, p, d, p_b=p_b) == certified(alone, p, d, p_b=p_b) == radius(alone, p, d, p_b)
    votes = Votes(int(1_000 * p), 1_000, "0.001")
    assert certified_from_votes(member, votes, d) == radius_from_votes(alone, votes, d)
    counts = [int(look.n * p) for look in plan_looks(1_000, "0.001")]
    assert staged_certified(member, counts, 1_000, d, "0.001") == staged_radius(alone, counts, 1_000, d, "0.001")


@st.composite
def classifiers(draw: st.DrawFn) -> tuple[Family, Counts, list[Fraction], list[Fraction]]:
    """A family, a budget, and the exact probabilities of each class of some classifier at x and at x̄.

    Half of them prefer class 0 where x is likelier, as the worst classifiers do.
    """
    family = draw(simple_families())
    counts = tuple(draw(st.integers(0, 2)) for _ in family.axes)
    counts = tuple(
        min(count, most) if most is not None else count for count, most in zip(counts, family.most, strict=True)
    )
    outcomes = noises.ways(family, counts)[0]
    classes = draw(st.integers(2, 5))
    ordered = sorted(outcomes, key=lambda each: each[0] - each[1], reverse=True)
    cut = draw(st.integers(0, len(ordered)))
    at_x, at_xbar = [Fraction(0)] * classes, [Fraction(0)] * classes
    for place, (x, xbar) in enumerate(ordered):
        label = 0 if place < cut else draw(st.integers(0, classes - 1))
        at_x[label] += x
        at_xbar[label] += xbar
    return family, counts, at_x, at_xbar


@settings(max_examples=300)
@given(classifiers(), st.integers(1, 3), st.booleans())
def test_no_classifier_breaks_what_is_certified(
    case: tuple[Family, Counts, list[Fraction], list[Fraction]], top_k: int, bounded: bool
) -> None:
    """The class stays among the k most probable at x̄, strictly ahead of all others."""
    family, counts, at_x, at_xbar = case
    others = sorted(at_x[1:], reverse=True)
    assume(top_k <= len(others))
    p_b = others[top_k - 1] if bounded else None
    found = read(family, certified(family, at_x[0], family.write_budget(counts), p_b=p_b, top_k=top_k))
    if counts in found:
        assert sum(other >= at_xbar[0] for other in at_xbar[1:]) < top_k


def test_a_bound_on_the_runner_up_is_never_weaker() -> None:
    for p in ("0.4", "0.7", "0.9", "0.99"):
        for p_b in ("0.001", "0.05", "0.3", "0.6"):
            one = read(GRAPH, certified(GRAPH, p, GRAPH_LIMITS))
            two = read(GRAPH, certified(GRAPH, p, GRAPH_LIMITS, p_b=p_b))
            assert all(any(all(a <= b for a, b in zip(x, y, strict=True)) for y in two) for x in one)


def test_a_staircase_has_every_budget_below_it_and_none_beyond() -> None:
    found = read(GRAPH, certified(GRAPH, "0.99", GRAPH_LIMITS))
    assert len(found) > 10
    limits = GRAPH.read_budget(GRAPH_LIMITS)
    for counts in within(limits):
        below = any(all(a <= b for a, b in zip(counts, each, strict=True)) for each in found)
        assert below == (threshold(GRAPH, GRAPH.write_budget(counts), digits=30) < Fraction("0.99"))


def test_limits_far_beyond_what_is_certified_cost_nothing() -> None:
    """The search begins with small budgets: a product of ten million coordinates would never end."""
    family = Joint(pixels=Discrete(255, "0.2"), words=Mask("0.9"))
    found = certified(family, "0.999", {"pixels": 10**7, "words": 10**6})
    assert found == certified(family, "0.999", {"pixels": 9, "words": 9})
    assert len(read(family, found)) == 7


def test_kinds_of_change_that_are_not_of_interest_cost_nothing() -> None:
    many = Joint(**{f"m{i}": Sparse("0.1", "0.2") for i in range(300)})
    limits = {f"m{i}": {"add": 1} for i in range(300)}
    assert certified(many, "0.8", limits) == (many.write_budget((0,) * 600),)
    with pytest.raises(InvalidInput, match="^limits must be above 0 for at most 500 kinds of change"):
        certified(many, "0.8", {f"m{i}": {"add": 1, "delete": 1} for i in range(300)})


@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=8))
def test_any_down_set_is_found(corners: set[Counts]) -> None:
    most = (3, 4, 2)
    corners = {corner for corner in corners if all(a <= b for a, b in zip(corner, most, strict=True))}

    def holds(counts: Counts) -> bool:
        return any(all(a <= b for a, b in zip(counts, corner, strict=True)) for corner in corners)

    assert set(find_staircase(holds, most)) == largest(list(corners))


def test_p_of_one_certifies_no_more_than_the_noise_hides() -> None:
    assert certified(Mask("0.9"), 1, 1_000) == 6
    assert certified(Mask("0.4"), 1, 1_000) == 0
    assert certified(Ablation(784, 45), 1) == 11
    assert certified(Discrete(1, "0.8"), 1, 784) == 784


def test_an_even_vote_abstains() -> None:
    assert certified(GRAPH, "0.5", GRAPH_LIMITS) is None
    assert certified_from_votes(GRAPH, Votes(50, 100), GRAPH_LIMITS) is None
    assert certified(Mask("0.9"), "0.5", 3) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: certified(GRAPH, "0.9"), "limits must be given for edges.add, edges.delete"),
        (lambda: certified(GRAPH, "0.9", 3), "limits must be a mapping"),
        (lambda: certified(Mask("0.5"), "1.2", 3), "p must be"),
        (lambda: certified(Mask("0.5"), "0.9", 3, p_b="x"), "p_b must be"),
        (lambda: certified(Mask("0.5"), "0.9", 3, top_k=0), "top_k must be an integer from 1 to 1000"),
        (lambda: certified(Grouped([(Mask("0.5"), 2)]), "0.9", 3), "limits must be an integer from 0 to 2"),
    ],
)
def test_bad_input_is_one_clear_line(call: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{message}"):
        call()  # type: ignore[operator]


@given(limited(), st.integers(1, 3))
def test_certainty_certifies_what_the_general_rule_says(case: tuple[Family, Counts], top_k: int) -> None:
    """p = 1 needs no product of regions; with a bound on the others the answer is the same."""
    family, limits = case
    budget = family.write_budget(limits)
    passing = [
        counts for counts in within(limits) if noises.least_rho(family, counts, Fraction(1)) > Fraction(1, top_k + 1)
    ]
    assert read(family, certified(family, 1, budget, top_k=top_k)) == largest(passing)
    assert read(family, certified(family, 1, budget, p_b="0.2", top_k=top_k)) == largest(passing)


def test_certainty_is_decided_at_once_however_many_changes_there_may_be() -> None:
    words = Sparse("0.01", "0.6")
    assert certified(words, 1, {"add": 100, "delete": 10**9}) == ({"add": 100, "delete": 10**9},)
    assert certified(Total(words), 1, 500) == 500
    assert certified(words, 1, {"add": 10**9, "delete": 10**9}) == ({"add": 10**9, "delete": 10**9},)
    assert certified(Mask("0.9999999999"), 1, 10**9) == 10**9
    assert certified(Mask("0.9999999999"), 1, 10**10) == 6_931_471_805  # as log 2/−log m says


def test_noise_that_hides_everything_certifies_any_limits_at_once() -> None:
    flat = Sparse("0.4", "0.6")
    limits = {"add": 10**9, "delete": 10**9}
    assert certified(flat, "0.9", limits) == (limits,)
    both = certified(Joint(words=flat, pixels=Mask("0.9")), "0.9", {"words": limits, "pixels": 10**9})
    assert both == ({"words": limits, "pixels": 4},)


@pytest.mark.parametrize(
    "call",
    [
        lambda: threshold(crowd(4), {name: {"add": 100, "delete": 100} for name in crowd(4).describe()["members"]}),
        lambda: threshold(crowd(10), {name: {"add": 5, "delete": 5} for name in crowd(10).describe()["members"]}),
        lambda: certified(Joint(a=Total(WORDS), b=Total(WORDS)), 1, {"a": 5_000, "b": 5_000}),
        lambda: threshold(Joint(a=Total(WORDS), b=Total(WORDS)), {"a": 5_000, "b": 5_000}),
        lambda: threshold(Ablation(2**31 - 1, 2**30), 2**30 - 7),
        lambda: rho(Discrete(1, "0.8"), 10**12, "0.9"),
        lambda: regions(Discrete(1, "0.8"), 10**30),
        lambda: threshold(Mask("0.9999999999"), 10**9),
        lambda: threshold(Joint(a=staircase_of(1_000), b=staircase_of(1_001)), {"a": 1, "b": 1}),
        lambda: threshold(Joint(a=staircase_of(10**5), b=WORDS), {"a": 1, "b": {"add": 2}}),
    ],
)
def test_products_that_no_memory_holds_are_refused_before_they_are_begun(call: object) -> None:
    """FLINT and GMP end the process where memory does."""
    with pytest.raises(InvalidInput, match=r"^budget must be (of|one that)"):
        list(call())  # type: ignore[operator]
