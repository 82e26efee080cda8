"""The guarantee itself, on the whole path from noise to radius."""

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, sqrt
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from oracles import brute_force
from sklearn.ensemble import RandomForestClassifier
from smoothing.noise_laws import Law, law
from smoothing.small_models import Lookup, smoothed

from ellzero.certificates import (
    Discrete,
    Total,
    min_count,
    plan_looks,
    rho_inverse,
    single_threshold,
)
from ellzero.smoothing import (
    ABSTAIN,
    AblationNoise,
    CertifySettings,
    DeletionNoise,
    DiscreteNoise,
    GroupedNoise,
    HierarchicalNoise,
    MaskNoise,
    SmoothedClassifier,
    SparseLevelsNoise,
    SparseNoise,
)
from ellzero.smoothing.noise.composed import BaseNoise
from ellzero.smoothing.noise.family_noise import FamilyNoise

RUNS, FEWER_RUNS = 20_000, 4_000
N, FAILURE = 60, Fraction(1, 10)


def chance_of_staged(r: int, n: int, p: Fraction) -> Fraction:
    """How often any look certifies r if all n votes are drawn: an exact walk over the counts at each look."""
    noise = Discrete(3, "1/2")
    alive = {0: Fraction(1)}  # by count, the chance to be there without a look having certified r
    certified, before = Fraction(0), 0
    for look in plan_looks(n, FAILURE):
        step: dict[int, Fraction] = defaultdict(Fraction)
        for count, chance in alive.items():
            for more in range(look.n - before + 1):
                ways = comb(look.n - before, more)
                step[count + more] += chance * ways * p**more * (1 - p) ** (look.n - before - more)
        least = min_count(noise, r, look.n, look.failure)
        certified += sum(chance for count, chance in step.items() if least is not None and count >= least)
        alive = {count: chance for count, chance in step.items() if least is None or count < least}
        before = look.n
    return certified


def certified_share(stopping: str, runner_up: bool, r: int, runs: int) -> Fraction:
    """How often r is certified by a classifier with p = τ_1 exactly: it errs at one of the three other values.

    K = 3, α = 1/2: β = 1/6 and τ_1 = 1 − β/(2α) = 5/6 = 1 − β.
    """
    noise = Discrete(3, "1/2")
    model = Lookup(4, 2, 2, lambda point: int(point[0] == 3))
    x = torch.tensor([0, 1])
    assert smoothed(model, noise, (0, 1))[0] == Fraction(5, 6) == single_threshold.threshold(noise, 1)
    classifier = SmoothedClassifier(model, noise, 2, feed="levels")
    settings = (CertifySettings.of(10, N, FAILURE, seed, stopping, runner_up) for seed in range(runs))
    results = classifier.sampler.run(classifier.task(x, settings) for settings in settings)
    certified = sum(result.radius is not None and result.radius >= r and result.prediction == 0 for result in results)
    return Fraction(certified, runs)


def test_a_p_at_the_threshold_is_certified_as_rarely_as_promised_and_no_more_rarely() -> None:
    share = certified_share("settled", False, 1, RUNS)
    least = min_count(Discrete(3, "1/2"), 1, N, FAILURE)
    assert least is not None
    expected = brute_force.binomial_tail(N, least, Fraction(5, 6))
    assert expected < FAILURE
    error = 5 * sqrt(expected * (1 - expected) / RUNS)
    assert share <= FAILURE + Fraction(error)
    assert abs(share - expected) < error


def test_stopping_at_any_time_keeps_the_promise_too() -> None:
    assert certified_share("anytime", False, 0, 500) > 0
    assert certified_share("anytime", False, 1, 2_000) <= FAILURE


def test_staged_looks_keep_the_promise_whenever_they_stop() -> None:
    """Stopping at a look can only leave out certificates that later looks would have given."""
    expected = chance_of_staged(1, N, Fraction(5, 6))
    assert 0 < expected < FAILURE
    error = 5 * sqrt(expected * (1 - expected) / RUNS)
    staged = certified_share("staged", False, 1, RUNS)
    assert 0 < staged <= expected + Fraction(error)
    assert certified_share("hasty", False, 1, 4_000) <= expected + Fraction(error) * 3


@pytest.mark.parametrize(
    ("noise", "x", "says_one", "p", "runs"),
    [
        # τ_1 of an added bit is 3/4 + 1/16, and of a deleted one 7/9.
        (SparseNoise("1/4", "1/3"), (0, 0), lambda point: point[0] and not point[1], "13/16", RUNS),
        (MaskNoise(1, "3/4"), (0, 0), lambda point: point[0] != 2, "3/4", RUNS),  # 2 is the mask
        # τ_1 of 0 to non-zero is 3/4 + 1/8 + 1/32; of the others, 7/8 and 8/9.
        (SparseLevelsNoise(2, "1/4", "1/3"), (0, 0), lambda point: point == (1, 0), "29/32", FEWER_RUNS),
        (AblationNoise(1, 4, 1), (0, 0, 0, 0), lambda point: point[0] != 2, "3/4", FEWER_RUNS),
        (DeletionNoise(1, "3/4", 2), (0, 1), lambda point: 1 in point, "3/4", FEWER_RUNS),
        # Struck ones show nothing at α = 1/2, and others everything.
        (HierarchicalNoise(Discrete(1, "1/2"), "3/4"), (0, 0), lambda point: point[0] < 2, "3/4", FEWER_RUNS),
        (
            GroupedNoise([(Discrete(1, "3/4"), 1), (Discrete(3, "1/2"), 1)]),
            (0, 1),
            lambda point: point[1] == 3,
            "5/6",
            FEWER_RUNS,
        ),
    ],
    ids=lambda each: getattr(each, "tag", ""),
)
def test_other_noises_keep_the_promise_and_are_no_more_careful(
    noise: FamilyNoise, x: tuple[int, ...], says_one: Callable[[tuple[int, ...]], bool], p: str, runs: int
) -> None:
    """A classifier with p = τ_1 exactly, on the whole path from noise to radius."""
    family = noise.noise if len(noise.noise.axes) == 1 else Total(noise.noise)
    assert rho_inverse(family, 1, "1/2") == Fraction(p)
    model = Lookup(max(3, noise.sample_levels), len(x), 2, lambda point: int(bool(says_one(point))))
    classifier = SmoothedClassifier(model, noise, 2, feed="levels")
    settings = (CertifySettings.of(10, N, FAILURE, seed) for seed in range(runs))
    results = classifier.sampler.run(classifier.task(torch.tensor(x), each) for each in settings)
    certified = sum(bool(result.radius) and result.prediction == 0 for result in results)
    least = min_count(family, 1, N, FAILURE)
    assert least is not None
    expected = brute_force.binomial_tail(N, least, Fraction(p))
    assert expected < FAILURE
    error = 5 * sqrt(expected * (1 - expected) / runs)
    share = Fraction(certified, runs)
    assert share <= FAILURE + Fraction(error)
    assert abs(share - expected) < error


@pytest.mark.parametrize("stopping", ["settled", "staged"])
def test_the_two_class_certificate_keeps_the_promise_too(stopping: str) -> None:
    assert certified_share(stopping, True, 1, 1_000) <= FAILURE


def test_a_class_selected_and_bounded_on_the_same_votes_would_break_it() -> None:
    """The mistake that n0 fresh votes are there to avoid, made on purpose: the test above would see it."""
    noise, classes = Discrete(1, "1/2"), 8
    model = Lookup(2, 3, classes, lambda point: point[0] * 4 + point[1] * 2 + point[2])  # every class: p = 1/8
    classifier = SmoothedClassifier(model, noise, classes, feed="levels")
    wrong = 0
    for seed in range(200):
        result = classifier.predict(torch.tensor([0, 0, 0]), 60, "0.5", seed=seed)
        top = max(result.counts)
        wrong += brute_force.binomial_tail(sum(result.counts), top, Fraction(1, 8)) < FAILURE  # "p > 1/8", wrongly
    assert wrong > 3 * FAILURE * 200


@settings(max_examples=25)
@given(
    st.integers(2, 3),
    st.integers(2, 4),
    st.integers(2, 3),
    st.sampled_from(["1/2", "4/5", "9/10", "1/5"]),
    st.randoms(use_true_random=False),
    st.sampled_from(["settled", "staged", "hasty", "anytime", "never"]),
    st.booleans(),
)
def test_a_radius_never_exceeds_the_exhaustive_truth(
    levels: int, d: int, classes: int, alpha: str, random: object, stopping: str, runner_up: bool
) -> None:
    """All points of a small space: wherever at most R coordinates differ, the smoothed answer is the certified one."""
    draw = random.randrange  # type: ignore[attr-defined]
    weights = [draw(1, 4) for _ in range(d)]
    centre = draw(1, max(2, sum(weights)))
    model = Lookup(
        levels,
        d,
        classes,
        lambda point: min(classes - 1, sum(w * v for w, v in zip(weights, point, strict=True)) // centre),
    )
    noise = Discrete(levels - 1, alpha)
    truth = {}
    for point in model.space:
        shares = smoothed(model, noise, point)
        truth[point] = shares
    classifier = SmoothedClassifier(model, noise, classes, feed="levels")
    if runner_up and stopping == "anytime":
        stopping = "settled"
    settings = CertifySettings.of(20, 2_000, Fraction(1, 10**9), draw(10**6), stopping, runner_up)
    chosen = [model.space[draw(len(model.space))] for _ in range(6)]
    for x, result in zip(chosen, classifier.certify_many(map(torch.tensor, chosen), settings), strict=True):
        assert (result.prediction == ABSTAIN) is (result.radius is None)
        if result.radius is None:
            continue
        for other, shares in truth.items():
            if sum(a != b for a, b in zip(x, other, strict=True)) <= result.radius:
                mine = shares[result.prediction]
                assert all(mine > share for label, share in enumerate(shares) if label != result.prediction)


def as_function(model: Lookup, d: int) -> Callable[[Any], Any]:
    labels = np.array(model.labels)
    places = model.places.numpy()
    return lambda samples: labels[samples.reshape(-1, d) @ places]


def as_forest(model: Lookup, d: int) -> RandomForestClassifier:
    """A forest that has learnt the whole space; its own answers are what is smoothed."""
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    return forest.fit(np.array(model.space), np.array(["none", "some", "many"])[model.labels])


@settings(max_examples=15)
@given(
    st.sampled_from([as_function, as_forest]),
    st.sampled_from([DiscreteNoise(2, "4/5"), MaskNoise(1, "3/5"), SparseNoise("1/10", "1/3")]),
    st.integers(3, 4),
    st.randoms(use_true_random=False),
)
def test_radii_of_functions_and_forests_never_exceed_the_exhaustive_truth(
    make: Callable[[Lookup, int], Any], noise: BaseNoise, d: int, random: Random
) -> None:
    """All points of a small space, and the exact law of the noise at each of them."""
    classes = random.choices(range(3), k=3 * d)
    whole = Lookup(noise.sample_levels, d, 3, lambda point: classes[sum(point)])
    assume(len(set(whole.labels)) > 1)
    model = make(whole, d)
    classifier = SmoothedClassifier(model, noise, None if make is as_forest else 3, feed="levels")
    labels = classifier.sampler.label(np.array(whole.space, np.uint8))
    label_of = dict(zip(whole.space, labels.tolist(), strict=True))
    points = list(product(range(noise.levels), repeat=d))
    truth = {point: shares(law(noise, point), label_of, classifier.num_classes) for point in points}
    chosen = random.sample(points, 5)
    voting = CertifySettings.of(20, 2_000, Fraction(1, 10**9), random.randrange(10**6))
    for x, result in zip(chosen, classifier.certify_many(map(list, chosen), voting), strict=True):
        if result.radius is None:
            continue
        for other, mine in truth.items():
            if sum(a != b for a, b in zip(x, other, strict=True)) <= result.radius:
                assert max(mine) == mine[result.prediction]
                assert mine.count(max(mine)) == 1


def shares(samples: Law, label_of: dict[tuple[int, ...], int], classes: int) -> list[Fraction]:
    """The exact probability of each class under noise."""
    result = [Fraction(0)] * classes
    for sample, mass in samples.items():
        result[label_of[sample]] += mass
    return result
