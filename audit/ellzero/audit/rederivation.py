"""Radii of many inputs under one noise, derived again from their votes, by the route of `verification`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from ellzero.audit.counted_votes import CountedVotes, StatedLook, find_contradiction
from ellzero.audit.laws import count_columns, read_law
from ellzero.audit.regions import stays_ahead, threshold
from ellzero.audit.tails import sequence_excludes, tail_is_at_most, tail_is_below


class RadiusDerivation:
    """What votes under a noise prove. What was found for one input serves the others, so that most cost nothing."""

    def __init__(self, noise: Mapping[str, Any], top_k: int = 1) -> None:
        """Raises `UnknownLaw` for a noise whose certificates are not of this kind."""
        self._law = read_law(dict(noise)).total()
        self._columns, self._is_ablation = count_columns(noise), noise["family"] == "ablation"
        self._q = Fraction(1, top_k + 1)
        self.threshold = cache(lambda radius: threshold(self._law, (radius,), self._q))
        self._stays_ahead = cache(lambda radius, *bounds: stays_ahead(self._law, (radius,), *bounds))
        self._shown = cache(_shows_bound)
        # By rule, look and radius: the least count known to prove it, and the largest known not to.
        self._known: dict[tuple[bool, int, Fraction, int], tuple[int, int]] = defaultdict(lambda: (10**9, -1))

    def list_problems(
        self, votes: CountedVotes, radius: int | None, lower: Fraction, upper: Fraction | None
    ) -> Iterator[str]:
        """What is wrong with a stated radius (None: abstains) and stated bounds; nothing if they are what is proved."""
        if (contradiction := find_contradiction(votes)) is not None:
            yield contradiction
            return
        if self._columns is not None and (votes.d > self._columns or (self._is_ablation and votes.d != self._columns)):
            yield f"d is {votes.d}, and the noise is for {self._columns}"
            return
        if radius is not None and not 0 <= radius <= votes.d:
            yield f"a radius of {radius} among {votes.d}"
            return
        if not self._shows_bounds(votes, lower, upper):
            yield "the votes do not show the stated bounds"
        if radius is not None and not self._proves(votes, radius, lower, upper):
            yield f"the votes do not prove the radius {radius}"
        beyond = 0 if radius is None else radius + 1
        if beyond <= votes.d and self._proves(votes, beyond, lower, upper):
            yield f"the votes prove the radius {beyond}, and {'none' if radius is None else radius} is stated"

    def proves(self, look: StatedLook, radius: int, *, anytime: bool = False) -> bool:
        """Whether the count at a look proves that p exceeds the threshold of the radius."""
        key = (anytime, look.n, look.failure, radius)
        least, most = self._known[key]
        if most < look.count < least:
            tau = self.threshold(radius)
            if tau < 1 and (sequence_excludes if anytime else tail_is_below)(look.n, look.count, tau, look.failure):
                least = look.count
            else:
                most = look.count
            self._known[key] = least, most
        return look.count >= least

    def _proves(self, votes: CountedVotes, radius: int, lower: Fraction, upper: Fraction | None) -> bool:
        if upper is not None:
            return self._stays_ahead(radius, lower, upper)
        return any(self.proves(look, radius, anytime=votes.stopping == "anytime") for look in votes.looks)

    def _shows_bounds(self, votes: CountedVotes, lower: Fraction, upper: Fraction | None) -> bool:
        """Whether some look shows the lower bound, and some look the upper one: all looks hold together."""
        if (upper is None) is votes.runner_up or not 0 <= lower < 1:
            return False
        anytime, half = votes.stopping == "anytime", 2 if votes.runner_up else 1
        if not any(self._shown(look.n, look.count, lower, look.failure / half, anytime) for look in votes.looks):
            return False
        if upper is None:
            return True
        share = 2 * (len(votes.counts) - 1)
        return 0 <= upper <= 1 and any(
            look.rival is not None and self._shown(look.n, look.n - look.rival, 1 - upper, look.failure / share, False)
            for look in votes.looks
        )


def _shows_bound(n: int, count: int, lower: Fraction, failure: Fraction, anytime: bool) -> bool:
    if lower == 0:
        return True
    return sequence_excludes(n, count, lower, failure) if anytime else tail_is_at_most(n, count, lower, failure)
