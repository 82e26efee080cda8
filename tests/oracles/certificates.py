"""Certificates of random votes under random noises, by every stopping rule, and the same truth from the engine."""

from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

from ellzero.audit import CertificateDocument, CertifiedObjects, CountedVotes, make_document, make_looks
from ellzero.audit.counted_votes import StatedLook
from ellzero.certificates import (
    Votes,
    anytime_certified,
    certified,
    certified_from_votes,
    lower_bound,
    plan_looks,
)
from ellzero.certificates.certified_budgets import CertifiedBudgets
from ellzero.certificates.families import (
    Ablation,
    Deletion,
    Discrete,
    Family,
    Grouped,
    Hierarchical,
    Joint,
    Mask,
    Sparse,
    SparseLevels,
    Total,
)
from ellzero.certificates.families.registry import make_family
from ellzero.certificates.looks import LAST_SHARE
from ellzero.certificates.multiclass import upper_bound

D = 12
RULES = ("settled", "staged", "hasty", "anytime", "never")
NOISES: list[dict[str, Any]] = [
    {**Discrete(1, "4/5").describe(), "levels": 2, "unit": "coordinate", "channels": 1},
    {**Discrete(3, "1/5").describe(), "levels": 4, "unit": "coordinate", "channels": 1},
    {**Discrete(26, "9/10").describe(), "levels": 3, "unit": "pixel", "channels": 3},
    {**Discrete(2, "1/3").describe(), "levels": 3, "unit": "coordinate", "channels": 1},
    {**Sparse("1/50", "3/5").describe(), "levels": 2},
    {**SparseLevels(3, "1/50", "3/5").describe(), "levels": 4},
    {**Mask("9/10").describe(), "levels": 5},
    {**Ablation(D, 2).describe(), "levels": 5},
    {**Deletion("19/20").describe(), "levels": 5, "length": D},
    Hierarchical(Discrete(3, "1/2"), "4/5").describe(),
    Total(Sparse("1/50", "3/5")).describe(),
    Joint(edges=Sparse("1/50", "3/5"), words=Mask("4/5")).describe(),
    Grouped([(Discrete(3, "1/2"), 5), (Mask("4/5"), 7)]).describe(),
]


def family_of(noise: dict[str, Any]) -> Family:
    """The family of a noise above."""
    return make_family(
        {name: value for name, value in noise.items() if name not in ("levels", "unit", "channels", "length")}
    )


def draw_votes(random: Random, noise: dict[str, Any]) -> CountedVotes:
    """Votes for 2 to 4 classes, mostly of so many for one of them that something is certified."""
    stopping, classes = random.choice(RULES), random.randint(2, 4)
    runner_up = stopping != "anytime" and random.random() < 0.3
    n, failure = (
        random.choice((40, 200, 1_000, 5_000)),
        random.choice((Fraction(1, 1_000), Fraction(1, 7), Fraction(1, 10))),
    )
    p = 1 - random.random() ** 3 * 0.5
    weights = [p if label == 0 else (1 - p) / (classes - 1) for label in range(classes)]
    order = random.sample(range(classes), classes)
    first = [0] * classes
    first[order[0]] = 20
    drawn = n if stopping == "never" or random.random() < 0.5 else random.randint(max(1, n // 2), n)
    plan = plan_looks(n, failure, Fraction(7, 10) if stopping == "hasty" else LAST_SHARE)
    made = plan[: random.randint(1, len(plan))] if stopping in ("staged", "hasty") else ()
    ends = [look.n for look in made] or [drawn]
    counts, looks, before = [0] * classes, [], 0
    for place, end in enumerate(ends):
        for label, more in zip(order, _split(random, end - before, weights), strict=True):
            counts[label] += more
        before = end
        if made:
            rival = max(count for label, count in enumerate(counts) if label != order[0])
            looks.append(StatedLook(end, made[place].failure, counts[order[0]], rival))
    votes, selected = tuple(counts), order[0]
    top_k = 2 if classes > 2 and not runner_up and random.random() < 0.2 else 1
    return CountedVotes(
        noise=noise,
        d=D,
        selected=selected,
        selection=tuple(first),
        counts=votes,
        looks=make_looks(votes, selected, n, failure, stopping, runner_up, tuple(looks)),
        n0=20,
        n=n,
        failure=failure,
        seed=random.randrange(2**63),
        stopping=stopping,
        runner_up=runner_up,
        top_k=top_k,
    )


def certify_votes(votes: CountedVotes, by_kind: bool) -> CertifiedBudgets:
    """What the engine says: a radius, or a staircase of budgets by the kind of change."""
    family = family_of(dict(votes.noise))
    if not by_kind and len(family.axes) > 1:
        family = Total(family)
    limits = family.write_budget(tuple(D if most is None else min(most, D) for most in family.most))
    if votes.runner_up:
        others = len(votes.counts) - 1
        low = max(lower_bound(Votes(look.count, look.n, look.failure / 2)) for look in votes.looks)
        high = min(upper_bound(Votes(look.rival or 0, look.n, look.failure / (2 * others))) for look in votes.looks)
        return certified(family, low, limits, p_b=high)
    if votes.stopping == "anytime":
        (look,) = votes.looks
        return anytime_certified(family, Votes(look.count, look.n, look.failure), limits, top_k=votes.top_k)
    best = max((Votes(look.count, look.n, look.failure) for look in votes.looks), key=lower_bound)
    return certified_from_votes(family, best, limits, top_k=votes.top_k)


def draw_certificate(random: Random) -> CertificateDocument:
    """A certificate of votes that certify something."""
    while True:
        noise = random.choice(NOISES)
        votes = draw_votes(random, noise)
        found = certify_votes(votes, by_kind=random.random() < 0.4 and len(family_of(noise).axes) > 1)
        if found is not None:
            shape = (3, D) if noise.get("unit") == "pixel" else (D,)
            return make_document(votes, found, CertifiedObjects("ab" * 32, "cd" * 32, shape))


def _split(random: Random, total: int, weights: list[float]) -> list[int]:
    """About so many votes of each class."""
    counts, left = [], total
    for weight in weights[:0:-1]:
        spread = sqrt(max(weight * (1 - weight) * total, 0))
        counts.append(min(left, max(0, round(random.gauss(weight * total, spread)))))
        left -= counts[-1]
    return [left, *reversed(counts)]
