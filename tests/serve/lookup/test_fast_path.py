"""The fast path reads what the ordinary route reads, or leaves the query to it."""

from urllib.parse import urlencode

from hypothesis import given, settings, strategies as st
from pydantic import ValidationError

from ellzero.certificates import InvalidInput
from ellzero.serve.lookup.fast_path import parse_plain_query
from ellzero.serve.lookup.request_models import RadiusRequest
from ellzero.serve.platform.problems import HttpProblem
from ellzero.serve.platform.requests import parse_query

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
def test_the_fast_path_reads_what_the_route_reads(query: bytes) -> None:
    fast = parse_plain_query(query)
    if fast is None:
        return
    try:
        full = RadiusRequest.model_validate(parse_query(query))
    except (InvalidInput, HttpProblem, ValidationError) as error:
        raise AssertionError(f"{query!r} is wrong: {error}") from error
    assert (full.noise, full.d, full.p) == (fast.noise, fast.d, fast.p)
    assert (full.p_b, full.count, full.n, full.failure) == (None, None, None, None)


def test_frequent_queries_take_the_fast_path() -> None:
    for query in (b"p=0.99&d=150528&k=255&alpha=0.2", b"k=255&alpha=4/5&p=1/3&d=784", b"k=1&alpha=0.8&d=9&p=.9"):
        assert parse_plain_query(query) is not None
    for query in (b"p=0.9&p=0.8&k=1&alpha=0.8&d=9", b"p=0.9&p_b=0.1&k=1&alpha=0.8&d=9", b"p=0.9&k=0&alpha=0.8&d=9"):
        assert parse_plain_query(query) is None
