"""The short way to read a question gives what the long way gives, or leaves it to that."""

from urllib.parse import urlencode

from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from ellzero.certificates import InvalidInput
from ellzero.serve.lookup.request_models import RadiusRequest, asked, plainly_asked
from ellzero.serve.platform.problems import HttpProblem

digits = st.text("0123456789./", min_size=1, max_size=12)
values = {
    "p": st.sampled_from(["0.99", "4/5", "1", ".5", "1e-3", "", "+0.5", " 0.5", "0." + "9" * 500]) | digits,
    "k": st.sampled_from(["255", "1", "0", "x", "+7", "1.0"]),
    "alpha": st.sampled_from(["0.2", "4/5", "1", "0.20", "2e-1", "abc"]),
    "d": st.sampled_from(["784", "0", "9"]),
    "p_b": st.sampled_from(["0.1", "2"]),
    "count": st.just("3"),
    "n": st.just("5"),
    "failure": st.just("0.1"),
    "xp": st.just("0.5"),
}


@st.composite
def queries(draw: st.DrawFn) -> bytes:
    """Mostly k, alpha, d and p in any order; now and then less, more, twice, or quoted."""
    names = ["p", "k", "alpha", "d"]
    if draw(st.integers(0, 2)) == 0:
        names += draw(st.lists(st.sampled_from(sorted(values)), max_size=2))
    if draw(st.integers(0, 4)) == 0:
        names.pop(draw(st.integers(0, len(names) - 1)))
    pairs = [(name, draw(values[name])) for name in draw(st.permutations(names))]
    if draw(st.integers(0, 3)) == 0:
        return urlencode(pairs).encode()
    return "&".join(f"{name}={value}" for name, value in pairs).replace(" ", "%20").encode()


@given(queries())
@settings(max_examples=1_000)
def test_the_short_way_reads_what_the_long_way_reads(query: bytes) -> None:
    short = plainly_asked(query)
    if short is None:
        return
    try:
        long = asked(RadiusRequest, query)
    except (InvalidInput, HttpProblem, ValidationError) as error:
        raise AssertionError(f"{query!r} is wrong: {error}") from error
    assert (long.noise, long.d, long.p) == (short.noise, short.d, short.p)
    assert (long.p_b, long.count, long.n, long.failure) == (None, None, None, None)


def test_what_is_asked_most_is_read_the_short_way() -> None:
    for query in (b"p=0.99&d=150528&k=255&alpha=0.2", b"k=255&alpha=4/5&p=1/3&d=784", b"k=1&alpha=0.8&d=9&p=.9"):
        assert plainly_asked(query) is not None
    for query in (b"p=0.9&p=0.8&k=1&alpha=0.8&d=9", b"p=0.9&p_b=0.1&k=1&alpha=0.8&d=9", b"p=0.9&k=0&alpha=0.8&d=9"):
        assert plainly_asked(query) is None
