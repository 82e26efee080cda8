"""Verification accepts what is true, and nothing that is false: not after any change of fields or of bytes."""

import copy
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import assume, given, settings, strategies as st
from oracles.certificates import RULES, certify_votes, draw_certificate, family_of

from ellzero.audit import (
    CertificateDocument,
    RejectedCertificate,
    VerifiedCertificate,
    sign_document,
    verify_document,
    verify_file,
)
from ellzero.audit.claims import write_claim
from ellzero.audit.document import StatedEntry
from ellzero.audit.laws import UnknownLaw, read_law
from ellzero.certificates import plan_looks, rho_inverse
from ellzero.certificates.families import Total
from ellzero.certificates.looks import LAST_SHARE
from ellzero.core.signing_keys import fingerprint

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
MUTANTS_OF_ONE = 40
JUNK = [
    None,
    True,
    False,
    0,
    -1,
    2**70,
    "",
    "1/2",
    "1/0",
    "é",
    [],
    {},
    [1],
    [None],
    {"a": 1},
    {"family": "mask", "m": "1/2"},
]
KEYS = ("levels", "unit", "channels", "length", "columns", "base", "members", "rival", "look", "protected")


def verify(data: bytes) -> VerifiedCertificate | None:
    try:
        return verify_document(data)
    except RejectedCertificate:
        return None


def write(fields: Any) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


@given(st.integers(0, 2**32))
@settings(max_examples=150)
def test_true_certificates_of_any_noise_and_rule_are_accepted(seed: int) -> None:
    document = draw_certificate(Random(seed))
    verified = verify(document.encode())
    assert verified is not None
    assert verified.document == document
    assert verified.signer is None


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_one_change_more_than_the_engine_certifies_is_refused_whatever_else_is_said(seed: int) -> None:
    """The route of verification gives exactly the radius of the engine: nothing beyond it passes."""
    document = draw_certificate(Random(seed))
    entry, radius = document.certified[0], document.certified[0].budget
    assume(isinstance(radius, int) and radius < document.d)
    assert isinstance(radius, int)
    forged = [replace(entry, budget=radius + 1)]
    if document.bounds is None:
        family = family_of(document.noise)
        counted = family if len(family.axes) == 1 else Total(family)
        assume(counted.most[0] is None or radius < counted.most[0])
        tau = rho_inverse(counted, radius + 1, Fraction(1, document.top_k + 1))
        rounded = -(-tau.numerator * 10**20 // tau.denominator)
        true = f"{rounded // 10**20}.{rounded % 10**20:020d}"
        forged = [
            StatedEntry(radius + 1, threshold, count, place)
            for threshold in (true, entry.threshold)
            for place, look in enumerate(document.looks)
            for count in {look.count, max(look.count - 1, 0), 0, entry.min_count}
        ]
    for each in forged:
        fields = replace(document, certified=(each,)).describe()
        assert verify(write(restate(fields))) is None, fields


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_one_vote_less_than_min_count_is_refused(seed: int) -> None:
    document = draw_certificate(Random(seed))
    assume(document.bounds is None and document.stopping in ("settled", "anytime"))
    entry = document.certified[0]
    assert entry.min_count is not None
    for count, accepted in ((entry.min_count, True), (entry.min_count - 1, False)):
        if count < 0 or (count == document.looks[0].count and not accepted):
            continue
        counts = list(document.counts)
        chosen = document.selected
        other = 1 if chosen == 0 else 0
        moved = counts[chosen] - count
        counts[chosen], counts[other] = count, counts[other] + moved
        if document.stopping == "settled" and counts[other] < 0:
            continue
        look = replace(document.looks[0], count=count)
        changed = replace(document, counts=tuple(counts), looks=(look,), certified=(entry,))
        assert (verify(write(restate(changed.describe()))) is not None) is accepted


def restate(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields with the claim that follows from them, where they say enough."""
    try:
        law = read_law(fields["noise"])
        budgets = [entry["budget"] for entry in fields["certified"]]
        failure, protected = Fraction(fields["failure"]), fields.get("protected", {}).get("positions", 0)
        claim = write_claim(
            failure, fields["class"], fields["top_k"], budgets, law.axes, fields["unit"], fields["d"], protected
        )
        return {**fields, "claim": claim}
    except (UnknownLaw, ValueError, TypeError, KeyError, AttributeError, IndexError, ZeroDivisionError):
        return fields


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, each in inner for place in places(each, (*path, key)))]


def change(random: Random, value: Any) -> Any:
    """Another value, mostly of the same type and near."""
    if random.random() < 0.05:
        return copy.deepcopy(random.choice(JUNK))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice([value + 1, value - 1, value + random.randint(-20, 20), value * 2, 0, 1])
    if isinstance(value, str):
        return random.choice([mutate_fraction(random, value), mutate_text(random, value), random.choice(RULES)])
    if isinstance(value, list):
        kept = list(value)
        random.shuffle(kept)
        return random.choice([kept, value[1:], [*value, *value[-1:]], value[::-1]])
    if isinstance(value, dict) and value:
        removed = random.choice(sorted(value))
        return {name: each for name, each in value.items() if name != removed}
    return value


def mutate_fraction(random: Random, text: str) -> str:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return text
    return str(value * Fraction(random.randint(1, 20), random.randint(1, 20)))


def mutate_text(random: Random, text: str) -> str:
    if not text:
        return "x"
    place = random.randrange(len(text))
    return text[:place] + random.choice("0123456789abf/.é\n") + text[place + random.randint(0, 1) :]


def mutate(random: Random, fields: dict[str, Any]) -> dict[str, Any]:
    """Some values of a document changed."""
    fields = copy.deepcopy(fields)
    for _ in range(random.choice((1, 1, 2, 3))):
        *path, last = random.choice(places(fields)[1:])
        inner: Any = fields
        for key in path:
            inner = inner[key]
        inner[last] = change(random, inner[last])
        if isinstance(inner, dict) and random.random() < 0.05:
            inner[random.choice(KEYS)] = copy.deepcopy(random.choice(JUNK))
    return fields


def is_true(document: CertificateDocument) -> bool:
    """Whether the engine certifies from these votes all that is claimed, with looks that were planned beforehand."""
    votes = document.votes
    if votes.selection.index(max(votes.selection)) != votes.selected or sum(votes.selection) != votes.n0:
        return False
    if sum(votes.counts) > votes.n:
        return False
    share = Fraction(7, 10) if votes.stopping == "hasty" else LAST_SHARE
    plan = plan_looks(votes.n, votes.failure, share)
    if votes.stopping in ("staged", "hasty") and any(
        (look.n, look.failure) != (planned.n, planned.failure) for look, planned in zip(votes.looks, plan, strict=False)
    ):
        return False
    words = re.fullmatch(r"With probability at least (\S+) over the votes, .* class (\d+) .*", document.claim)
    if words is None or Fraction(words[1]) != 1 - votes.failure or int(words[2]) != votes.selected:
        return False
    radius = isinstance(document.certified[0].budget, int)
    family = family_of(dict(votes.noise))
    found = certify_votes(votes, by_kind=not radius)
    if found is None:
        return False
    if isinstance(found, int):
        (entry,) = document.certified
        in_words = re.search(r"at most (\d+)(?: of its| insertions| changes)", document.claim)
        assert isinstance(entry.budget, int)
        return entry.budget <= found and in_words is not None and int(in_words[1]) == entry.budget
    corners = [family.read_budget(each) for each in found]
    claimed = [family.read_budget(entry.budget) for entry in document.certified]
    return all(any(all(map(int.__le__, counts, corner)) for corner in corners) for counts in claimed)


@given(st.integers(0, 2**32))
@settings(max_examples=250)
def test_no_changed_certificate_is_accepted_unless_it_is_true_as_it_stands(seed: int) -> None:
    """10,000 changed documents in a run, half of them with the claim that would follow from the changed fields."""
    random = Random(seed)
    fields = draw_certificate(random).describe()
    for _ in range(MUTANTS_OF_ONE):
        changed = mutate(random, fields)
        data = write(restate(changed) if random.random() < 0.5 else changed)
        if (verified := verify(data)) is not None:
            assert is_true(verified.document), data
            assert verified.document.encode() == data


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=60)
def test_other_bytes_of_the_same_meaning_are_refused(seed: int, data: st.DataObject) -> None:
    signed = sign_document(draw_certificate(Random(seed)), KEY)
    assert verify(signed) is not None
    place = data.draw(st.integers(0, len(signed)))
    for other in (
        signed[:place] + b" " + signed[place:],
        signed + b"\n",
        b'{"n":1,' + signed[1:],
        signed[:-1] + b',"versions":{}}',
        signed.replace(b'"class":', b'"\\u0063lass":'),
        json.dumps(json.loads(signed), sort_keys=False, separators=(",", ": ")).encode(),
        b"\xef\xbb\xbf" + signed,
        signed.decode().encode("utf-16"),
        signed[:place],
    ):
        assert other == signed or verify(other) is None, other


@given(st.integers(0, 2**32), st.integers(0, 10**6), st.integers(1, 255))
@settings(max_examples=300)
def test_no_byte_of_a_signed_certificate_can_be_changed(seed: int, place: int, change: int) -> None:
    signed = bytearray(sign_document(SIGNED[seed % len(SIGNED)], KEY))
    signed[place % len(signed)] ^= change
    assert verify(bytes(signed)) is None


SIGNED = [draw_certificate(Random(seed)) for seed in range(10)]


def test_only_the_key_that_is_expected_will_do() -> None:
    document = SIGNED[0]
    signed = sign_document(document, KEY)
    assert verify_document(signed, public_key=KEY.public_key()).signer == fingerprint(KEY.public_key())
    with pytest.raises(RejectedCertificate, match="is signed with the key"):
        verify_document(signed, public_key=OTHER.public_key())
    with pytest.raises(RejectedCertificate, match="certificate is not signed"):
        verify_document(document.encode(), public_key=KEY.public_key())
    fields = json.loads(signed)
    for forged in (
        {**fields, "public_key": OTHER.public_key().public_bytes_raw().hex()},
        {**fields, "signature": "0" * 128},
        {name: value for name, value in fields.items() if name != "signature"},
        {name: value for name, value in fields.items() if name != "public_key"},
        {**fields, "signature": fields["signature"].upper()},
    ):
        with pytest.raises(RejectedCertificate, match="signature"):
            verify_document(write(forged))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "is not JSON"),
        (b"\x00\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"{}", 'is not of the kind "ellzero certificate"'),
        (b"[]", 'is not of the kind "ellzero certificate"'),
        (b'{"kind":"ellzero certificate"}', "is not of format 1"),
        (b'{"format":1,"kind":"ellzero certificate"}', "does not have exactly these fields"),
        (b'{"a":1.5}', "has a number that is no integer: 1.5"),
        (b'{"a":NaN}', "has a number that is no integer: NaN"),
        (b" " * 3_000_000, "has more than 2 MB"),
    ],
)
def test_what_is_no_certificate_is_refused_in_one_line(text: bytes, reason: str) -> None:
    with pytest.raises(RejectedCertificate) as rejected:
        verify_document(text)
    assert rejected.value.reason.startswith(reason)


def test_files_that_are_none_are_refused_in_one_line(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    make: dict[str, Callable[[Path], object]] = {
        "pipe": lambda path: None,
        "folder": lambda path: path.mkdir(),
        "none": lambda path: None,
        "huge": lambda path: path.write_bytes(b"0" * 5_000_000),
    }
    for name, prepare in make.items():
        prepare(tmp_path / name)
        with pytest.raises(RejectedCertificate):
            verify_file(tmp_path / name)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"noise": {"family": "discrete", "k": 10**8, "alpha": "1/3"}, "d": 2**31 - 1, "input": 2**31 - 1}, "large"),
        ({"noise": {"family": "mask", "m": "1/3"}, "d": 2**31 - 1, "input": 2**31 - 1}, "large"),
        ({"noise": {"family": "gaussian", "sigma": "1/3"}}, "is of no family that certificates are verified for"),
        ({"noise": {"family": "mask", "m": "1e999999999"}}, "has a parameter m that is no fraction"),
        ({"noise": {"family": "mask", "m": "3/2"}}, "has a parameter m that is no probability"),
        ({"noise": {"family": "mask", "m": "1/2", "x": 1}}, "has exactly the parameters m"),
    ],
)
def test_noises_that_nobody_has_time_for_or_knows_are_refused(changes: dict[str, Any], reason: str) -> None:
    fields = next(each for each in SIGNED if isinstance(each.certified[0].budget, int) and not each.bounds).describe()
    fields["noise"], fields["unit"] = changes["noise"], "coordinate"
    if "d" in changes:
        fields["d"], fields["input"]["shape"] = changes["d"], [changes["input"]]
        fields["certified"][0]["budget"] = changes["d"]
    with pytest.raises(RejectedCertificate, match=reason):
        verify_document(write(restate(fields)))


ABLATION = {"family": "ablation", "d": 1_000, "keep": 10}
WEAK = {"family": "sparse", "p_add": "1/50", "p_del": "3/5", "columns": 100}
MASKS = [{"family": "mask", "m": f"{place}/10007", "columns": 1} for place in range(1, 102)]


@pytest.mark.parametrize(
    ("noise", "d", "reason"),
    [
        ({"family": "joint", "members": {"a": {**ABLATION, "columns": 12}}}, 12, "other numbers of columns"),
        ({"family": "joint", "members": {"a": ABLATION}}, 12, "d is not the number"),
        ({"family": "joint", "members": {"a": ABLATION, "b": {"family": "mask", "m": "1/2"}}}, 12, "parts with and"),
        (
            {
                "family": "grouped",
                "members": [
                    {"family": "total", "base": {"family": "joint", "members": {"a": WEAK}}, "columns": 5},
                    {"family": "mask", "m": "99/100", "columns": 7},
                ],
            },
            12,
            "other numbers of columns",
        ),
        ({"family": "discrete", "k": 255, "alpha": "9/10", "unit": "pixel", "channels": 3}, 12, "how many levels"),
        ({"family": "grouped", "members": MASKS}, 101, "so many kinds of change"),
    ],
)
def test_noises_for_other_inputs_than_these_or_of_endless_kinds_are_refused(
    noise: dict[str, Any], d: int, reason: str
) -> None:
    """A noise that hides 10 of 1,000 columns says nothing of inputs that have 12."""
    fields = next(each for each in SIGNED if isinstance(each.certified[0].budget, int) and not each.bounds).describe()
    fields["noise"], fields["unit"], fields["d"], fields["input"]["shape"] = noise, "coordinate", d, [d]
    fields["certified"][0]["budget"] = 3
    with pytest.raises(RejectedCertificate, match=reason):
        verify_document(write(restate(fields)))


def test_budgets_that_together_take_long_are_refused_at_once() -> None:
    fields = next(each for each in SIGNED if not each.bounds).describe()
    fields["noise"], fields["unit"] = {"family": "sparse", "p_add": "1/50", "p_del": "3/5"}, "coordinate"
    fields["d"], fields["input"]["shape"] = 10_000, [10_000]
    budgets = [{"add": 150 + place, "delete": 350 - place} for place in range(200)]
    fields["certified"] = [{**fields["certified"][0], "budget": budget} for budget in budgets]
    with pytest.raises(RejectedCertificate, match="so many large budgets"):
        verify_document(write(restate(fields)))


@pytest.mark.parametrize("noise", [{"family": "deletion", "m": "19/20"}, {"family": "total", "base": ABLATION}])
def test_protected_positions_are_refused_where_no_position_stays(noise: dict[str, Any]) -> None:
    fields = next(each for each in SIGNED if isinstance(each.certified[0].budget, int) and not each.bounds).describe()
    fields["noise"], fields["unit"] = noise, "edit" if noise["family"] == "deletion" else "coordinate"
    fields["d"], fields["input"]["shape"] = 997, [1_000]
    fields["protected"] = {"positions": 3, "sha256": "ef" * 32}
    with pytest.raises(RejectedCertificate, match="no position stays protected"):
        verify_document(write(restate(fields)))


def test_protected_positions_count_in_the_shape_and_stand_in_the_claim() -> None:
    document = next(each for each in SIGNED if each.unit == "coordinate" and each.noise["family"] == "discrete")
    fields = document.describe()
    fields["input"]["shape"] = [document.d + 3]
    fields["protected"] = {"positions": 3, "sha256": "ef" * 32}
    assert verify(write(fields)) is None, "the claim must say so"
    verified = verify(write(restate(fields)))
    assert verified is not None
    assert verified.document.claim.endswith("coordinates, the 3 protected ones unchanged.")
    fields["protected"]["positions"] = 2
    assert verify(write(restate(fields))) is None
