"""Results: what votes certify of each kind of change, true of every input near by, whatever the noise."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest
import torch
from hypothesis import given, settings, strategies as st
from smoothing.noise_laws import law
from smoothing.small_models import Lookup
from smoothing.small_spaces import NOISES, changes, list_inputs

from ellzero.certificates import InvalidInput, Votes, certified_from_votes
from ellzero.smoothing import CertifySettings, GaussianNoise, SmoothedClassifier, SparseNoise
from ellzero.smoothing.noise.composed import BaseNoise


@pytest.mark.parametrize(("noise", "d"), NOISES, ids=lambda each: getattr(each, "tag", str(each)))
@settings(max_examples=2)
@given(st.integers(0, 2**32))
def test_what_is_certified_is_true_of_every_input(noise: BaseNoise, d: int, seed: int) -> None:
    """All inputs of a small space: within the radius, and within each budget of the staircase, however votes stop."""
    random = Random(seed)
    weights, centre = [random.randrange(1, 4) for _ in range(d)], random.randrange(1, 4 * noise.sample_levels)
    model = Lookup(
        noise.sample_levels, d, 2, lambda point: int(sum(w * v for w, v in zip(weights, point, strict=True)) >= centre)
    )
    label = dict(zip(model.space, model.labels, strict=True))
    space = list_inputs(noise, d)
    ones = {x: sum(mass for sample, mass in law(noise, x).items() if label[sample]) for x in space}
    classifier = SmoothedClassifier(model, noise, 2, feed="levels")
    family, limits = noise.noise, noise.noise.write_budget((d,) * len(noise.noise.axes))
    for stopping, runner_up in product(["settled", "staged", "anytime", "never"], [False, True]):
        if runner_up and stopping == "anytime":
            continue
        voting = CertifySettings.of(20, 2_000, Fraction(1, 10**9), seed, stopping, runner_up)
        chosen = random.sample(space, 2)
        tasks = [classifier.task(torch.tensor(x), voting) for x in chosen]
        for x, result in zip(chosen, classifier.sampler.run(tasks), strict=True):
            staircase = result.budgets(limits)
            stairs = (staircase,) if isinstance(staircase, int) else staircase or ()
            budgets = [family.read_budget(each) for each in stairs]
            assert bool(budgets) is (result.radius is not None)
            for other in space:
                counts = changes(noise, x, other)
                within = any(all(n <= most for n, most in zip(counts, budget, strict=True)) for budget in budgets)
                if within or (result.radius is not None and sum(counts) <= result.radius):
                    share = ones[other] if result.prediction else 1 - ones[other]
                    assert share > Fraction(1, 2)


def test_budgets_are_those_of_the_votes_and_agree_with_the_radius() -> None:
    noise = SparseNoise("0.01", "0.6")
    model = Lookup(2, 6, 2, lambda point: int(sum(point) > 5))
    classifier = SmoothedClassifier(model, noise, 2, feed="levels")
    limits = {"add": 6, "delete": 6}
    for stopping in ("settled", "staged", "hasty", "anytime", "never"):
        result = classifier.certify(torch.tensor([0, 0, 0, 1, 1, 1]), n=4_000, seed=3, stopping=stopping)
        stairs = result.budgets(limits)
        assert isinstance(stairs, tuple)
        counts = [noise.noise.read_budget(each) for each in stairs]
        assert result.radius is not None
        # At most R changes of any kinds are within some budget, and R + 1 of them are not.
        for r, covered in ((result.radius, True), (result.radius + 1, False)):
            splits = [(add, r - add) for add in range(r + 1)]
            inside = [any(a <= add and b <= delete for add, delete in counts) for a, b in splits]
            assert all(inside) is covered
        if stopping == "never":
            assert stairs == certified_from_votes(noise.noise, Votes(result.count, result.n, result.failure), limits)


def test_budgets_need_a_family_and_its_kinds_of_change() -> None:
    model = Lookup(2, 3, 2, lambda point: 0)
    x = torch.tensor([0, 1, 1])
    result = SmoothedClassifier(model, SparseNoise("0.01", "0.6"), 2, feed="levels").certify(x, n=1_000, seed=1)
    with pytest.raises(InvalidInput, match="^limits must be given for add, delete"):
        result.budgets()
    with pytest.raises(InvalidInput, match="^limits must be a mapping with keys of add, delete"):
        result.budgets({"change": 3})
    gaussian = replace(result, noise=GaussianNoise("0.5", k=1).description())
    with pytest.raises(InvalidInput, match="^noise must be of a family, for budgets; got 'gaussian'"):
        gaussian.budgets(3)
    rounded = replace(result, noise={"family": "rounded-gaussian", "alpha": "0.9", "levels": 2})
    with pytest.raises(InvalidInput, match="^noise must be of a family, for budgets; got 'rounded-gaussian'"):
        rounded.budgets(3)
    assert replace(result, radius=None, prediction=-1).budgets({"add": 1}) is None
