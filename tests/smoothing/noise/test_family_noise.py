"""Noises of a family have the family's certificates, and streams of their own."""

import pytest

from ellzero.certificates import Bounds, Mask, Sparse, Total, Votes, anytime_certified, certified, certified_from_votes
from ellzero.smoothing import MaskNoise, SparseNoise
from ellzero.smoothing.noise.family_noise import FamilyNoise


@pytest.mark.parametrize("noise", [SparseNoise("0.01", "0.6"), MaskNoise(9, "0.9")])
def test_radii_are_those_of_the_family(noise: FamilyNoise) -> None:
    family = noise.noise if isinstance(noise.noise, Mask) else Total(noise.noise)
    for count in (500, 700, 900, 999, 1_000):
        votes = Votes(count, 1_000, "0.001")
        assert noise.radius(votes, 50) == certified_from_votes(family, votes, 50)
        assert noise.anytime_radius(votes, 50) == anytime_certified(family, votes, 50)
        bounds = Bounds(count / 1_001, (1_000 - count) / 2_000)
        assert noise.two_class_radius(bounds, 50) == certified(family, bounds.lower, 50, p_b=bounds.upper)
    assert noise.radius(Votes(1_000, 1_000, "0.001"), 2) == 2
    assert noise.radius(Votes(400, 1_000, "0.001"), 50) is None
    assert noise.other_radii(0.9, 5) == {}


def test_a_total_counts_the_worst_kind_of_change() -> None:
    votes = Votes(9_950, 10_000, "0.001")
    radius = SparseNoise("0.01", "0.6").radius(votes, 50)
    assert radius is not None
    stairs = certified_from_votes(Sparse("0.01", "0.6"), votes, {"add": 20, "delete": 20})
    assert isinstance(stairs, tuple)
    counts = [Sparse("0.01", "0.6").read_budget(each) for each in stairs]

    def covered(add: int, delete: int) -> bool:
        return any(add <= most[0] and delete <= most[1] for most in counts)

    assert all(covered(add, radius - add) for add in range(radius + 1))
    assert not all(covered(add, radius + 1 - add) for add in range(radius + 2))


def test_different_noises_have_different_streams() -> None:
    tags = {
        SparseNoise("0.01", "0.6").tag,
        SparseNoise("0.01", "0.61").tag,
        MaskNoise(9, "0.6").tag,
        MaskNoise(8, "0.6").tag,
    }
    assert len(tags) == 4
