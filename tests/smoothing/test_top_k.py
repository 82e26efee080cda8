"""A class that is certified to remain one of the k most probable does so at every input near by."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from random import Random

import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.classifiers import NOISE, make_inputs
from smoothing.noise_laws import law
from smoothing.small_models import Counting, Lookup
from smoothing.small_spaces import NOISES, changes, list_inputs

from ellzero.certificates import InvalidInput
from ellzero.smoothing import (
    CertifySettings,
    DiscreteNoise,
    GaussianNoise,
    SmoothedClassifier,
    Stopping,
    UnreachableRadiusWarning,
)
from ellzero.smoothing.noise.composed import BaseNoise
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise

CLASSES = 4


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
@pytest.mark.parametrize(("noise", "d"), NOISES, ids=lambda each: getattr(each, "tag", str(each)))
@settings(max_examples=2)
@given(st.integers(0, 2**32))
def test_the_class_remains_among_the_first_at_every_input_near_by(noise: BaseNoise, d: int, seed: int) -> None:
    """All inputs of a small space, within the radius and within each budget, however votes stop."""
    random = Random(seed)
    weights = [random.randrange(1, 4) for _ in range(d)]
    step = random.randrange(1, 1 + d * noise.sample_levels // 2)

    def label(point: tuple[int, ...]) -> int:
        return sum(w * v for w, v in zip(weights, point, strict=True)) // step % CLASSES

    model = Lookup(noise.sample_levels, d, CLASSES, label)
    space = list_inputs(noise, d)
    shares = {x: [Fraction(0)] * CLASSES for x in space}
    for x in space:
        for sample, mass in law(noise, x).items():
            shares[x][label(sample)] += mass
    classifier = SmoothedClassifier(model, noise, CLASSES, feed="levels")
    limits = noise.noise.write_budget((d,) * len(noise.noise.axes))
    for stopping, runner_up, top_k in product(["settled", "staged", "anytime"], [False, True], [2, 3]):
        if runner_up and stopping == "anytime":
            continue
        voting = CertifySettings.of(20, 2_000, Fraction(1, 10**9), seed, stopping, runner_up, top_k)
        x = random.choice(space)
        (result,) = classifier.certify_many([torch.tensor(x)], voting)
        staircase = result.budgets(limits)
        stairs = (staircase,) if isinstance(staircase, int) else staircase or ()
        budgets = [noise.noise.read_budget(each) for each in stairs]
        assert result.top_k == top_k
        assert bool(budgets) is (result.radius is not None)
        for other in space:
            counts = changes(noise, x, other)
            within = any(all(n <= most for n, most in zip(counts, budget, strict=True)) for budget in budgets)
            if within or (result.radius is not None and sum(counts) <= result.radius):
                mine = shares[other][result.prediction]
                assert sum(share >= mine for share in shares[other]) <= top_k  # itself among them


def test_a_third_of_the_votes_is_enough_to_remain_among_two() -> None:
    """Three classes with p = 0.46, 0.27 and 0.27: none of the others can be among the first two with a third of it."""
    classifier = SmoothedClassifier(Lookup(3, 2, 3, lambda point: point[0]), DiscreteNoise(2, "0.46"), 3, feed="levels")
    first = classifier.certify([0, 0], 100, 20_000, seed=1)
    second = classifier.certify([0, 0], 100, 20_000, seed=1, top_k=2)
    assert (first.radius, second.radius) == (None, 0)
    assert second.prediction == 0
    assert Fraction(1, 3) < Fraction(second.lower_bound) < Fraction(1, 2)


@pytest.mark.filterwarnings("ignore::ellzero.smoothing.UnreachableRadiusWarning")
@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(50, 2_000), st.booleans(), st.sampled_from(["0.7", "0.45"]))
def test_stopping_when_settled_gives_the_answer_of_all_votes_and_more_rivals_never_less(
    seed: int, n: int, runner_up: bool, alpha: str
) -> None:
    classifier = SmoothedClassifier(Counting(8, 5, seed), DiscreteNoise(3, alpha), 5, feed="levels")
    (x,) = make_inputs(1)
    radii = []
    for top_k in (1, 2, 3, 4):
        settled, full = (
            classifier.certify(x, 10, n, "0.01", seed=seed, stopping=stopping, runner_up=runner_up, top_k=top_k)
            for stopping in (Stopping.SETTLED, Stopping.NEVER)
        )
        assert (settled.prediction, settled.radius) == (full.prediction, full.radius)
        radii.append(-1 if full.radius is None else full.radius)
    assert radii[0] <= min(radii[1:])
    if not runner_up:
        assert radii == sorted(radii)


def test_a_radius_out_of_reach_is_a_warning_with_the_votes_that_remaining_among_k_takes() -> None:
    classifier = SmoothedClassifier(Counting(8, 4), NOISE, 4, feed="levels")
    with pytest.warns(UnreachableRadiusWarning, match="even if all 12 votes agree; n = 29 or "):
        classifier.certify(make_inputs(1)[0], 8, 12, "0.01", top_k=3)
    assert classifier.certify(make_inputs(1)[0], 8, 29, "0.01", top_k=3).n == 29


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one(NOISE, top_k=0), "top_k must be an integer from 1 to 1000; got 0"),
        (lambda one: one(NOISE, top_k=3), "top_k must be an integer from 1 to 2; got 3"),
        (lambda one: one(GaussianNoise("0.5", k=3), top_k=2), "top_k must be 1 for continuous noise"),
        (lambda one: one(GaussianNoise("0.5", k=3), top_k=2, stopping="staged"), "top_k must be 1 for continuous"),
        (lambda one: one(RoundedGaussianNoise("0.9"), top_k=2, stopping="anytime"), "top_k must be 1 for continuous"),
        (lambda one: one(RoundedGaussianNoise("0.9"), top_k=2, runner_up=True), "runner_up must be false"),
    ],
)
def test_what_cannot_be_certified_is_refused_before_any_vote(
    call: Callable[[Callable[..., object]], object], message: str
) -> None:
    model = Counting(8, 3)

    def certify(noise: object, **options: object) -> object:
        bits = getattr(noise, "levels", 4) == 2
        classifier = SmoothedClassifier(model, noise, 3, feed="scaled")  # type: ignore[arg-type]
        return classifier.certify(make_inputs(1, levels=2 if bits else 4)[0], 5, 50, **options)  # type: ignore[arg-type]

    with pytest.raises(InvalidInput, match=f"^{message}"):
        call(certify)
    assert model.calls == []
