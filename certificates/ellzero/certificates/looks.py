"""Staged looks: bounds at a few fixed numbers of votes, of which the best may be kept.

Look j is at the first n_j votes, n_1 < … < n_J = n, with a share ε_j of the failure probability, Σ ε_j ≤ ε. By itself
each look is an ordinary Clopper–Pearson bound: its n_j is fixed beforehand, and it is false with probability at most
ε_j. By the union bound all of them hold together with probability at least 1 − ε, so the largest radius seen at any
look is certified, and one may stop after any look, for any reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ellzero.certificates.families.discrete import Discrete
from ellzero.certificates.votes import Votes, check_n, radius_from_votes
from ellzero.core.conventions import DEFAULT_FAILURE
from ellzero.core.errors import InvalidInput
from ellzero.core.numbers import RationalLike, read_failure

# With nearly all of ε for the last look, its radius is nearly that of a fixed n.
LAST_SHARE = Fraction(9, 10)
# Each look has 7/8 of the votes of the next one, down to n/256: fewer prove little, and more looks cost more of ε.
_STEP = Fraction(7, 8)
_FIRST = 256
# Unanimous votes show p > 1/2 from about log2(1/ε_j) on.
_LEAST_VOTES = 32


@dataclass(frozen=True)
class Look:
    """The bound on the first ``n`` votes, false with probability at most ``failure``."""

    n: int
    failure: Fraction


def plan_looks(n: int, failure: RationalLike = DEFAULT_FAILURE, last_share: Fraction = LAST_SHARE) -> tuple[Look, ...]:
    """The looks for at most n votes, ascending; the last one is at n, and their failures add up to ``failure``.

    The last look has ``last_share`` of the failure. The others share the rest in proportion to their votes, since a
    later look is more likely to be the one that counts. All is fixed before any vote.

    >>> [look.n for look in plan_looks(100)]
    [36, 42, 49, 57, 66, 76, 87, 100]
    """
    epsilon, counts, last_share = read_failure(failure), [check_n(n)], read_failure(last_share, "last_share")
    while (earlier := int(counts[-1] * _STEP)) >= max(_LEAST_VOTES, n // _FIRST):
        counts.append(earlier)
    *others, last = reversed(counts)
    if not others:
        return (Look(last, epsilon),)
    rest = (1 - last_share) * epsilon / sum(others)
    return (*(Look(each, each * rest) for each in others), Look(last, last_share * epsilon))


def staged_radius(
    noise: Discrete,
    counts: Sequence[int],
    n: int,
    d: int,
    failure: RationalLike = DEFAULT_FAILURE,
    last_share: Fraction = LAST_SHARE,
) -> int | None:
    """The largest r ≤ d that any look certifies, None to abstain; ``counts`` are for y, at the first looks of the plan
    (`plan_looks`, with this ``last_share``).

    Holds with probability at least 1 − ε, whatever decided after how many looks to stop. A count is that of all votes
    up to its look, so counts never fall, and between two looks they grow by no more than the votes drawn.
    """
    radii = [radius_from_votes(noise, votes, d) for votes in read_looks(counts, n, failure, last_share)]
    return max((radius for radius in radii if radius is not None), default=None)


def read_looks(counts: Sequence[int], n: int, failure: RationalLike, last_share: Fraction) -> list[Votes]:
    """The votes at the first looks of a plan. Raises `InvalidInput` if they cannot be those of one sequence."""
    looks = plan_looks(n, failure, last_share)
    if not 1 <= len(counts) <= len(looks):
        raise InvalidInput("counts", f"counts at 1 to {len(looks)} looks", list(counts))
    votes = [Votes(count, look.n, look.failure) for count, look in zip(counts, looks, strict=False)]
    if not all(0 <= after.count - before.count <= after.n - before.n for before, after in pairwise(votes)):
        raise InvalidInput("counts", "counts of growing numbers of the same votes", list(counts))
    return votes
