"""Hypothesis strategies: noises of every kind, small enough for the slow computations they are checked against."""

from fractions import Fraction

from hypothesis import strategies as st

from ellzero.certificates import Discrete


@st.composite
def alphas(draw: st.DrawFn, max_denominator: int = 60) -> Fraction:
    """A rational in (0, 1)."""
    denominator = draw(st.integers(2, max_denominator))
    return Fraction(draw(st.integers(1, denominator - 1)), denominator)


@st.composite
def noises(draw: st.DrawFn, max_k: int = 300, max_denominator: int = 60) -> Discrete:
    """Any noise: α above β mostly, but also α < β, α = β and K = 1."""
    k = draw(st.one_of(st.just(1), st.integers(1, 8), st.integers(1, max_k)))
    kind = draw(st.sampled_from(["any", "any", "decimal", "weaker", "flat"]))
    if kind == "flat":
        return Discrete(k, Fraction(1, k + 1))
    if kind == "weaker":  # α < β
        return Discrete(k, Fraction(1, k + 1) * draw(alphas(max_denominator)))
    if kind == "decimal":
        return Discrete(k, Fraction(draw(st.integers(1, 99)), 100))
    return Discrete(k, draw(alphas(max_denominator)))


def probabilities(max_denominator: int = 10**6) -> st.SearchStrategy[Fraction]:
    """A rational in [0, 1]."""
    return st.fractions(0, 1, max_denominator=max_denominator)
