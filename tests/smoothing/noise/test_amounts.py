"""The amount of every family of noise: read, changed, listed and ordered."""

from fractions import Fraction

import pytest

from ellzero.certificates import InvalidInput
from ellzero.smoothing import (
    AblationNoise,
    CertifySettings,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    GroupedNoise,
    HierarchicalNoise,
    JointNoise,
    MaskNoise,
    SparseLevelsNoise,
    SparseNoise,
    TotalNoise,
    UniformNoise,
)
from ellzero.smoothing.noise.amounts import (
    AMOUNTS,
    list_amounts,
    name_amount,
    order_amounts,
    read_amount,
    set_amount,
    show_amount,
)
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.registry import FAMILIES, make_noise
from ellzero.smoothing.noise.rounded_gaussian import RoundedGaussianNoise
from ellzero.smoothing.sampling.radius_steps import find_least_n

NOISES: dict[str, tuple[NoiseFamily, str, str]] = {
    "discrete": (DiscreteNoise(1, "0.8"), "α", "0.8"),
    "rounded-gaussian": (RoundedGaussianNoise("0.7"), "α", "0.7"),
    "gaussian": (GaussianNoise("0.5", k=255), "σ", "0.5"),
    "uniform": (UniformNoise("2", k=255), "γ", "2"),
    "sparse": (SparseNoise("0.01", "1/3"), "p_del", "1/3"),
    "sparse-levels": (SparseLevelsNoise(4, "0.01", "0.6"), "p_del", "0.6"),
    "mask": (MaskNoise(9, "0.9"), "m", "0.9"),
    "ablation": (AblationNoise(9, 50, 5), "keep", "5"),
    "deletion": (DeletionNoise(9, "0.9", 50), "m", "0.9"),
    "hierarchical": (HierarchicalNoise(DiscreteNoise(9, "0.6"), "0.9"), "s", "0.9"),
    "total": (TotalNoise(SparseNoise("0.01", "0.6")), "p_del", "0.6"),
}
WITHOUT = [
    JointNoise(bits=(SparseNoise("0.01", "0.6"), 3), words=(SparseNoise("0.1", "0.6"), 3)),
    GroupedNoise([(DiscreteNoise(1, "0.7"), 3), (DiscreteNoise(1, "0.8"), 3)]),
]


def test_every_family_has_an_amount_or_several() -> None:
    assert {*NOISES, *(noise.description()["family"] for noise in WITHOUT)} == set(FAMILIES)
    assert {*AMOUNTS, "total"} == set(NOISES)


@pytest.mark.parametrize("family", NOISES)
def test_an_amount_is_read_as_people_write_it_and_set(family: str) -> None:
    noise, name, shown = NOISES[family]
    description = noise.description()
    assert (name_amount(description), show_amount(description)) == (name, shown)
    assert make_noise(set_amount(description, shown)) == noise
    for value in list_amounts(description):
        other = make_noise(set_amount(description, value)).description()
        assert read_amount(other) == Fraction(value)
        assert set(other) == set(description)


@pytest.mark.parametrize("family", NOISES)
def test_every_amount_of_the_grid_can_certify_a_change(family: str) -> None:
    description = NOISES[family][0].description()
    settings = CertifySettings.of(100, 100_000, "0.001", 0)
    for value in list_amounts(description):
        assert find_least_n(make_noise(set_amount(description, value)), 50, settings, 1) is not None


def test_amounts_are_ordered_from_most_noise_to_least() -> None:
    assert order_amounts(NOISES["discrete"][0].description(), ["0.9", "9/10", "0.6"]) == ["0.6", "9/10"]
    assert order_amounts(NOISES["mask"][0].description(), ["0.6", "0.95", "0.9"]) == ["0.95", "0.9", "0.6"]
    assert order_amounts(NOISES["ablation"][0].description(), ["20", "5"]) == ["5", "20"]


def test_many_values_have_amounts_below_one_half() -> None:
    assert min(map(Fraction, list_amounts(DiscreteNoise(255, "0.5").description()))) == Fraction("0.1")
    assert min(map(Fraction, list_amounts(DiscreteNoise(1, "0.8").description()))) > Fraction(1, 2)
    assert min(map(Fraction, list_amounts(DiscreteNoise(4, "0.8").description()))) > Fraction(1, 5)
    assert list_amounts(AblationNoise(9, 2, 1).description()) == ["1"]
    assert list_amounts(AblationNoise(9, 1, 1).description()) == ["1"]


@pytest.mark.parametrize("noise", WITHOUT, ids=["joint", "grouped"])
def test_noises_of_several_kinds_have_no_single_amount(noise: NoiseFamily) -> None:
    with pytest.raises(InvalidInput, match="which have one amount"):
        list_amounts(noise.description())


@pytest.mark.parametrize(
    ("family", "value", "message"),
    [
        ("discrete", "x", "levels must be numbers such as 0.1; got 'x'"),
        ("ablation", "0.5", "levels must be how many numbers are shown"),
        ("ablation", "51", "levels must be an integer from 1 to 50"),
    ],
)
def test_a_value_that_is_none_is_refused(family: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        set_amount(NOISES[family][0].description(), value)
