"""The search for adversaries, against the exact answers of small classifiers at every input."""

from fractions import Fraction
from itertools import product

import pytest
import torch
from smoothing.small_models import Lookup, smoothed

from ellzero.certificates import Discrete
from ellzero.experiments.adversary_search import SearchSettings, search_adversary
from ellzero.smoothing import SmoothedClassifier

NOISE = Discrete(1, "0.9")
D = 6


def exact_answers(model: Lookup) -> dict[tuple[int, ...], int | None]:
    """The class with more than half of the probability at each input; None where it is too close to tell by votes."""
    answers = {}
    for point in model.space:
        shares = smoothed(model, NOISE, point)
        top = max(shares)
        answers[point] = shares.index(top) if top - Fraction(1, 2) > Fraction(1, 20) else None
    return answers


def fewest_changes(answers: dict[tuple[int, ...], int | None], x: tuple[int, ...], label: int) -> int | None:
    """The fewest flips, up to two, after which the answer is surely another class."""
    distances = [
        sum(a != b for a, b in zip(x, other, strict=True))
        for other, answer in answers.items()
        if answer is not None and answer != label
    ]
    return min((distance for distance in distances if distance <= 2), default=None)


@pytest.mark.parametrize("threshold", [1, 2, 3, 4, 5])
def test_it_finds_the_fewest_flips_and_nothing_that_is_no_adversary(threshold: int) -> None:
    model = Lookup(2, D, 2, lambda point: int(sum(point) >= threshold))
    answers = exact_answers(model)
    classifier = SmoothedClassifier(model, NOISE, 2, feed="levels")
    settings = SearchSettings(harmful=D, random_pairs=0, seed=1)  # all pairs
    checked = 0
    for x in list(product((0, 1), repeat=D))[::5]:
        label = answers[x]
        if label is None:
            continue
        found = search_adversary(classifier, torch.tensor(x), label, settings)
        expected = fewest_changes(answers, x, label)
        if found.adversary is not None:
            changed = tuple(1 - bit if place in found.adversary else bit for place, bit in enumerate(x))
            # Votes at failure 1e-6 decided that the answer there is another one; it may be one too close for `answers`.
            assert answers[changed] != label
        if expected is not None:
            assert found.adversary is not None or found.undecided
            assert found.adversary is None or len(found.adversary) <= expected
        checked += 1
    assert checked > 5


def test_an_input_that_is_wrong_needs_no_change_and_a_constant_class_has_no_adversary() -> None:
    settings = SearchSettings(harmful=4, random_pairs=5)
    constant = SmoothedClassifier(Lookup(2, D, 2, lambda point: 1), NOISE, 2, feed="levels")
    x = torch.zeros(D, dtype=torch.int64)
    assert search_adversary(constant, x, 0, settings).adversary == ()
    found = search_adversary(constant, x, 1, settings)
    assert (found.adversary, found.undecided) == (None, 0)
    assert (found.singles, found.pairs) == (D, 6 + 5)
    assert found.votes >= 32 * (1 + D + 11)
    assert found == search_adversary(constant, x, 1, settings)  # the same seed, the same votes


def test_votes_that_do_not_decide_are_counted_and_are_no_adversary() -> None:
    even = SmoothedClassifier(Lookup(2, 1, 2, lambda point: point[0]), Discrete(1, "1/2"), 2, feed="levels")
    found = search_adversary(even, torch.tensor([0]), 0, SearchSettings(0, 0))
    assert found.adversary is None
    assert found.undecided == 2


def test_no_more_pairs_are_tried_than_there_are() -> None:
    constant = SmoothedClassifier(Lookup(2, 3, 2, lambda point: 1), NOISE, 2, feed="levels")
    found = search_adversary(constant, torch.zeros(3, dtype=torch.int64), 1, SearchSettings(2, 1_000))
    assert (found.singles, found.pairs) == (3, 3)
