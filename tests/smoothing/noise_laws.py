"""The exact law of every noise on single inputs, from `oracles.noises`, and sources whose words are known."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from oracles import noises
from scipy import stats
from torch import Tensor

from ellzero.certificates import Ablation, Deletion
from ellzero.smoothing import HierarchicalNoise, TotalNoise
from ellzero.smoothing.noise.base import NoiseFamily
from ellzero.smoothing.noise.composed import BaseNoise, PartitionedNoise
from ellzero.smoothing.noise.device_source import DeviceRandomSource
from ellzero.smoothing.noise.random_streams import Array, Kind, RandomSource, Stage, open_source

CPU = torch.device("cpu")
SURE = 1e-8
"""A p-value below this is no accident."""

Law = dict[tuple[int, ...], Fraction]
DrawnBy = Callable[[int], RandomSource]


def on_the_host(block: int) -> RandomSource:
    return open_source(b"law of the noise", Stage.BOUND, block, CPU)


def on_the_device(block: int) -> RandomSource:
    """What a GPU does, done by a CPU: the same operations of torch, by its generator."""
    return DeviceRandomSource(b"law of the noise", Stage.BOUND, block, CPU)


SOURCES = (on_the_host, on_the_device)


def draw(noise: NoiseFamily, x: Tensor | Array, source: RandomSource, count: int) -> Tensor:
    """Noisy copies as a tensor, whatever arrays the source has."""
    return torch.as_tensor(noise.sample(np.asarray(x), source, count))


class Script(DeviceRandomSource):
    """A source whose words are given, so that all of them can be gone through."""

    def __init__(self, *words: Tensor) -> None:
        super().__init__(bytes(16), Stage.BOUND, 0, CPU)
        self._words: Iterator[Tensor] = iter(words)

    def words(self, count: int, kind: Kind) -> Array:
        words = next(self._words)
        assert (len(words), words.dtype) == (count, getattr(torch, kind))
        return words.clone()


def every_word(*sizes: int) -> Script:
    """A source whose draws go through all combinations of words, a sample for each.

    Of 256 bytes a draw has as many as its size: those that begin a share of equal length for coins, which come with
    Fractions of that denominator, and those that begin to differ for levels: with a negative size.
    """
    words = [torch.arange(0, 256, 256 // size) if size > 0 else torch.arange(-size) for size in sizes]
    grid = torch.cartesian_prod(*words) if len(words) > 1 else words[0].unsqueeze(1)
    return Script(*(column.to(torch.uint8) for column in grid.T))


def exact_law(noise: BaseNoise, value: int, sizes: Sequence[int]) -> dict[int, Fraction]:
    """What a number becomes, by going through all words."""
    count = int(np.prod(np.abs(sizes)))
    samples = draw(noise, np.array([value], np.uint8), every_word(*sizes), count)
    values, counts = np.unique(samples.numpy(), return_counts=True)
    return {int(v): Fraction(int(n), count) for v, n in zip(values, counts, strict=True)}


def law(noise: BaseNoise, x: tuple[int, ...]) -> Law:
    """The probability of each sample of an input, written a second time: by the oracle, coordinate by coordinate."""
    family = noise.noise
    if isinstance(noise, TotalNoise):
        return law(noise._base, x)
    if isinstance(noise, HierarchicalNoise):
        return _strike(law(noise._base, x), x, noise.levels, Fraction(noise.description()["s"]))
    if isinstance(noise, PartitionedNoise):
        start, parts = 0, []
        for _, member, columns in noise._parts:
            parts.append(law(member, x[start : start + columns]))
            start += columns
        return _multiply(parts)
    if isinstance(family, Ablation):
        hidden = noise.levels
        return {
            tuple(dict(shown).get(place, hidden) for place in range(len(x))): mass  # type: ignore[call-overload]
            for shown, mass in noises.ablations(x, family.keep).items()
        }
    if isinstance(family, Deletion):
        padding = noise.levels - 1
        left = noises.deletions([symbol for symbol in x if symbol != padding], family.m)
        return {(*kept, *[padding] * (len(x) - len(kept))): mass for kept, mass in left.items()}  # type: ignore[misc, arg-type]
    return _multiply([_as_levels(noises.coordinate(family, value), noise.levels) for value in x])


def _as_levels(outcomes: noises.Distribution, levels: int) -> Law:
    return {(levels if each == "hidden" else int(str(each)),): mass for each, mass in outcomes.items()}


def _strike(base: Law, x: tuple[int, ...], levels: int, s: Fraction) -> Law:
    """Each number as it is with probability 1 − s, and otherwise that of the base, as one that was struck."""
    result: Law = {}
    for struck in product([False, True], repeat=len(x)):
        share = s ** sum(struck) * (1 - s) ** (len(x) - sum(struck))
        for noisy, mass in base.items():
            shown = tuple(levels + new if hit else old for hit, new, old in zip(struck, noisy, x, strict=True))
            result[shown] = result.get(shown, Fraction(0)) + share * mass
    return result


def _multiply(parts: Sequence[Law]) -> Law:
    result: Law = {}
    for choice in product(*(part.items() for part in parts)):
        mass = Fraction(1)
        for _, own in choice:
            mass *= own
        shown = tuple(level for own, _ in choice for level in own)
        result[shown] = result.get(shown, Fraction(0)) + mass
    return result


def p_value(samples: Tensor, expected: Law) -> float:
    """χ² of whole samples against their law; rare outcomes are one. Samples that cannot be fail at once."""
    rows, counts = np.unique(samples.numpy(), axis=0, return_counts=True)
    observed = {tuple(row): int(count) for row, count in zip(rows.tolist(), counts, strict=True)}
    assert set(observed) <= set(expected)
    if len(expected) == 1:
        return 1.0
    pairs = [(observed.get(outcome, 0), float(mass) * len(samples)) for outcome, mass in expected.items()]
    common = [pair for pair in pairs if pair[1] >= 10]
    rare = [pair for pair in pairs if pair[1] < 10]
    if rare:
        common.append((sum(seen for seen, _ in rare), sum(mass for _, mass in rare)))
    seen, mass = zip(*common, strict=True)
    return float(stats.chisquare(seen, mass, sum_check=False).pvalue)
