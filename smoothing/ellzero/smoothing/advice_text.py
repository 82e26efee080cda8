"""Advice in words: what to use, what keeps radii small, and what would change that."""

from collections.abc import Iterator
from dataclasses import replace

from ellzero.certificates.binomial_tails import MAX_VOTES
from ellzero.smoothing.advice import Advice, NoiseAdvice
from ellzero.smoothing.forecast import Expected
from ellzero.smoothing.noise.amounts import name_amount, show_amount
from ellzero.smoothing.sampling.radius_steps import find_least_n, list_least_counts

LEAST_SHARE = 0.01
"""Of inputs with a radius, below which none is expected."""
_WORTH_VOTES = 0.05
_MANY_AT_REACH = 0.1
_WORTH_MORE = 1.05
_RIGHT = 0.75
_FACTORS = (10, 100)


def recommend(advice: Advice, target: int | None = None) -> str:
    """One line: which amount of noise, and why; or that none of them is any use."""
    wanted = max(1, target or 0)
    if not is_useful(advice, target):
        return f"recommended: none of these, at which no radius of {wanted} or more is expected"
    best = advice.best(target)
    rivals = [show_amount(rival.noise.description()) for rival in advice.rivals(target)]
    others = f"; these votes do not tell it from {', '.join(rivals)}" if rivals else ""
    score = describe_score(best.expected.score(target), target)
    return f"recommended: {describe_amount(best)}, expected to have the largest {score}{others}"


def is_useful(advice: Advice, target: int | None = None) -> bool:
    """Whether a radius of 1, or of the target, is expected on an input in a hundred at any of the amounts."""
    wanted = max(1, target or 0)
    return any(option.expected.score(wanted).value >= LEAST_SHARE for option in advice.options)


def explain_limits(advice: Advice, target: int | None = None) -> Iterator[str]:
    """What keeps the expected radii small, and what would change it: votes, or less noise. Nothing if nothing does."""
    wanted = max(1, target or 0)
    if not is_useful(advice, target):
        unreachable = all((option.expected.reach or 0) < wanted for option in advice.options)
        if unreachable:
            yield _explain_unreachable(advice, wanted)
        more = next((each for each in _raise_n(advice) if _score(each, wanted) >= _WORTH_VOTES), None)
        if more is not None:
            yield f"{_expect_more(more, wanted)}; {advice.settings.n:,} are too few"
        elif not unreachable:
            yield _explain_share(advice, wanted)
        return
    best = advice.best(target)
    share = best.expected.share_at_reach()
    more = next(_raise_n(replace(advice, options=(best,))), None) if share >= _MANY_AT_REACH else None
    if more is not None and _score(more, target) > _WORTH_MORE * _score(advice, target):
        yield (
            f"{share:.0%} of the inputs are expected to get {best.expected.reach} at {describe_amount(best)}, the "
            f"most that n = {advice.settings.n:,} votes can reach; {_expect_more(more, target)}"
        )
    surest = max(advice.options, key=lambda option: option.expected.score(0).value)
    right, most = (option.expected.score(0).value for option in (best, surest))
    if right < _RIGHT * most:
        yield (
            f"at {describe_amount(best)} only {right:.0%} of the inputs are expected to be right at all, and {most:.0%}"
            f" at {describe_amount(surest)}: large radii may be those of a class that is always answered; see --target"
        )
    if len(advice.options) > 1 and best in (advice.options[0], advice.options[-1]):
        yield f"{describe_amount(best)} is at the end of these amounts: a better one may lie beyond; see --levels"


def describe_amount(option: NoiseAdvice) -> str:
    """The amount of a noise: α = 0.8."""
    description = option.noise.description()
    return f"{name_amount(description)} = {show_amount(description)}"


def describe_score(score: Expected, target: int | None) -> str:
    """μ(R) or ACC@r with its band."""
    return f"μ(R), {format_mean(score)}" if target is None else f"ACC@{target}, {format_share(score)}"


def format_mean(mean: Expected) -> str:
    """An expected mean and its band: 1.9 (1.6–2.2)."""
    digits = 1 if mean.value >= 1 else 2
    return f"{mean.value:.{digits}f} ({mean.low:.{digits}f}–{mean.high:.{digits}f})"


def format_share(share: Expected) -> str:
    """An expected share and its band: 55 % (41–68 %)."""
    return f"{share.value:.0%} ({100 * share.low:.0f}–{share.high:.0%})"


def _explain_unreachable(advice: Advice, wanted: int) -> str:
    """Which n could, with which amount."""
    numbers = [
        (least, option)
        for option in advice.options
        if (least := find_least_n(option.noise, max(option.dimensions), advice.settings, wanted)) is not None
    ]
    line = f"n = {advice.settings.n:,} votes cannot certify a radius of {wanted} at any of these, even if all agree"
    if not numbers:
        return f"{line}, and no n up to {MAX_VOTES:,} can"
    least, option = min(numbers, key=lambda pair: pair[0])
    return f"{line}; n = {least:,} could at {describe_amount(option)}"


def _expect_more(more: Advice, target: int | None) -> str:
    best = more.best(target)
    score = describe_score(best.expected.score(target), target)
    return f"n = {more.settings.n:,} are expected to give {score}, at {describe_amount(best)}"


def _explain_share(advice: Advice, wanted: int) -> str:
    """How far the votes are from what a radius takes, where they are nearest."""
    option = find_nearest(advice, wanted)
    needed = 100 * _needed_share(advice, option, wanted)
    return (
        f"votes agree too little: at {describe_amount(option)} half of the inputs have at most "
        f"{option.expected.share:.0%} of the votes for their class, and a radius of {wanted} takes {needed:.4g}%; "
        "other amounts may help, or training with this noise"
    )


def find_nearest(advice: Advice, target: int | None = None) -> NoiseAdvice:
    """The noise under which votes are nearest to certifying a radius of 1, or of the target."""
    wanted = max(1, target or 0)
    return max(advice.options, key=lambda each: each.expected.share - _needed_share(advice, each, wanted))


def _needed_share(advice: Advice, option: NoiseAdvice, wanted: int) -> float:
    """The share of n votes that certifies a radius; more than all of them if none does."""
    counts = list_least_counts(option.noise, max(option.dimensions), advice.settings)
    return counts[wanted] / advice.settings.n if wanted < len(counts) else 2.0


def _raise_n(advice: Advice) -> Iterator[Advice]:
    for factor in _FACTORS:
        if advice.settings.n * factor <= MAX_VOTES:
            yield advice.at(advice.settings.n * factor)


def _score(advice: Advice, target: int | None) -> float:
    return advice.best(target).expected.score(target).value
