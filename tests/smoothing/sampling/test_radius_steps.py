"""Least counts of radii and least n, against the radius of every count."""

import pytest
from hypothesis import given, settings, strategies as st

from ellzero.certificates import InvalidInput, Votes, plan_looks
from ellzero.smoothing import (
    AblationNoise,
    CertifySettings,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    HierarchicalNoise,
    MaskNoise,
    SparseNoise,
    UniformNoise,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
from ellzero.smoothing.sampling.radius_steps import find_least_n, list_least_counts

NOISES: list[NoiseFamily] = [
    DiscreteNoise(3, "0.7"),
    DiscreteNoise(1, "0.95"),
    DiscreteNoise(255, "0.3", unit="pixel", channels=3),
    SparseNoise("0.1", "0.6"),
    MaskNoise(9, "0.9"),
    AblationNoise(9, 12, 2),
    DeletionNoise(9, "0.8", 12),
    HierarchicalNoise(DiscreteNoise(3, "0.6"), "0.9"),
    GaussianNoise("0.5", k=255),
    UniformNoise("2", k=255),
    RoundedGaussianNoise("0.7"),
]


@given(
    noise=st.sampled_from(NOISES),
    n=st.integers(1, 60),
    failure=st.sampled_from(["0.001", "0.05", "0.4"]),
    stopping=st.sampled_from(["settled", "staged", "hasty", "anytime", "never"]),
)
@settings(max_examples=60)
def test_least_counts_are_the_steps_of_the_radius_of_every_count(
    noise: NoiseFamily, n: int, failure: str, stopping: str
) -> None:
    rules = CertifySettings.of(10, n, failure, 0, stopping)
    looks = rules.stopping.plan(n, rules.failure)
    share = looks[-1].failure if looks else rules.failure
    least = list_least_counts(noise, 12, rules)
    for count in range(n + 1):
        votes = Votes(count, n, share)
        radius = noise.anytime_radius(votes, 12) if stopping == "anytime" else noise.radius(votes, 12)
        assert sum(count >= each for each in least) - 1 == (-1 if radius is None else radius)


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: str(noise.description()["family"]))
def test_the_least_n_reaches_the_radius_and_no_smaller_one_does(noise: NoiseFamily) -> None:
    rules = CertifySettings.of(10, 50, "0.001", 0, "never")
    n = find_least_n(noise, 12, rules, 1)
    assert n is not None
    for votes, reaches in ((n, True), (n - 1, False)):
        radius = noise.radius(Votes(votes, votes, "0.001"), 12)
        assert (radius is not None and radius >= 1) is reaches


def test_some_radii_take_more_votes_than_there_can_be() -> None:
    assert find_least_n(MaskNoise(9, "0.4"), 12, CertifySettings.of(10, 50, "0.001", 0), 1) is None


def test_the_last_look_decides_for_staged_stopping() -> None:
    rules = CertifySettings.of(10, 1_000, "0.001", 0, "staged")
    failure = plan_looks(1_000, rules.failure)[-1].failure
    noise = DiscreteNoise(1, "0.8")
    alone = CertifySettings.of(10, 1_000, failure, 0, "never")
    assert list_least_counts(noise, 12, rules) == list_least_counts(noise, 12, alone)


def test_two_classes_have_no_least_count() -> None:
    rules = CertifySettings.of(10, 50, "0.001", 0, "settled", runner_up=True)
    with pytest.raises(InvalidInput, match="runner_up must be false"):
        list_least_counts(DiscreteNoise(1, "0.8"), 12, rules)
