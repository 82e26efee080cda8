"""Whether the claim of a certificate follows from its votes, derived again by a route of its own.

Everything here rests on `laws`, `regions` and `tails`, which share no formula and no arithmetic with what made the
certificate. What is not shown here: that the votes are those of the model, and that seed and settings were fixed before
them (docs/certificates.md).
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ellzero.audit.claims import find_unit, read_budget, write_claim
from ellzero.audit.counted_votes import StatedLook, find_contradiction
from ellzero.audit.document import (
    MOST_BYTES,
    CertificateDocument,
    MalformedField,
    StatedEntry,
    is_digest,
    is_signature,
    parse_document,
)
from ellzero.audit.errors import RejectedCertificate
from ellzero.audit.laws import Law, UnknownLaw, count_columns, read_law, strikes_coordinates
from ellzero.audit.regions import check_work, stays_ahead, threshold
from ellzero.audit.tails import sequence_excludes, tail_is_at_most, tail_is_below
from ellzero.core.canonical_json import NotCanonical, read_canonical, read_small_file, write_canonical

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PublicKey

_DIGITS = 20


@dataclass(frozen=True)
class VerifiedCertificate:
    """A document whose claim follows from it; ``sha256`` is of its bytes, ``signer`` the fingerprint of who signed."""

    document: CertificateDocument
    sha256: str
    signer: str | None


def verify_file(path: Path, public_key: "Ed25519PublicKey | None" = None) -> VerifiedCertificate:
    """`verify_document` for the bytes of a file."""
    try:
        data = read_small_file(path, MOST_BYTES)
    except OSError as error:
        raise RejectedCertificate(str(path), f"cannot be read: {error.strerror}") from None
    return verify_document(data, str(path), public_key)


def verify_document(
    data: bytes, place: str = "certificate", public_key: "Ed25519PublicKey | None" = None
) -> VerifiedCertificate:
    """The certificate that has these bytes. Raises `RejectedCertificate` unless its claim follows from its fields.

    With a ``public_key``, it must be signed with that key. A signature that is there must be valid in any case.
    """
    if len(data) > MOST_BYTES:
        raise RejectedCertificate(place, f"has more than {MOST_BYTES // 1_000_000} MB, which no certificate has")
    try:
        fields = read_canonical(data)
        document = parse_document(fields)
        signer = _check_signature(place, fields, public_key)
        _check_no(find_contradiction(document.votes))
        _check_claim(document)
    except (NotCanonical, MalformedField) as error:
        raise RejectedCertificate(place, str(error)) from None
    except UnknownLaw as error:
        raise RejectedCertificate(place, f"does not show what it claims: its noise {error}") from None
    except (RecursionError, MemoryError, OverflowError):
        raise RejectedCertificate(place, "has fields too large to be verified") from None
    except _DoesNotFollow as error:
        raise RejectedCertificate(place, f"is false: {error}") from None
    return VerifiedCertificate(document, hashlib.sha256(data).hexdigest(), signer)


class _DoesNotFollow(Exception):
    """What is false, as half a sentence."""


def _check(condition: bool, otherwise: str) -> None:
    if not condition:
        raise _DoesNotFollow(otherwise)


def _check_no(problem: str | None) -> None:
    if problem is not None:
        raise _DoesNotFollow(problem)


def _check_signature(place: str, fields: dict[str, Any], public_key: "Ed25519PublicKey | None") -> str | None:
    """The fingerprint of the key that has signed the document; None if none has, and none had to."""
    if "signature" not in fields and "public_key" not in fields:
        if public_key is not None:
            raise RejectedCertificate(place, "is not signed")
        return None
    if not is_digest(fields.get("public_key")) or not is_signature(fields.get("signature")):
        raise RejectedCertificate(place, "has a signature that no certificate has")
    from ellzero.core.signing_keys import Ed25519PublicKey, InvalidSignature, fingerprint

    unsigned = write_canonical({name: value for name, value in fields.items() if name != "signature"})
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(fields["public_key"]))
        key.verify(bytes.fromhex(fields["signature"]), unsigned)
    except (InvalidSignature, ValueError):  # ValueError: bytes that are no key
        raise RejectedCertificate(place, "has no valid signature: it is not as it was signed") from None
    if public_key is not None and key != public_key:
        signer, expected = fingerprint(key), fingerprint(public_key)
        raise RejectedCertificate(place, f"is signed with the key {signer}, not with {expected}")
    return fingerprint(key)


def _check_claim(document: CertificateDocument) -> None:
    """Whether the claim is the one of the fields, and true of them."""
    law, d = read_law(document.noise), document.d
    free_and_protected = d + document.protected
    columns, is_ablation = count_columns(document.noise), document.noise["family"] == "ablation"
    stays = document.protected == 0 or is_ablation or strikes_coordinates(document.noise)
    _check(stays, "under its noise no position stays protected")
    noisy = d if is_ablation else free_and_protected  # ablation is for the free ones alone
    _check(columns in (None, noisy), "d is not the number of coordinates that the noise is for")
    size = prod(document.shape)
    _check(size == free_and_protected * document.noise.get("channels", 1), "d does not fit the shape of the input")
    _check(document.unit == find_unit(document.noise, law), "the unit is not that of the noise")
    read = _read_budgets(law, document)
    if len(read) > 1:
        check_work(read)
    budgets = [entry.budget for entry in document.certified]
    claim = write_claim(
        document.failure, document.selected, document.top_k, budgets, law.axes, document.unit, d, document.protected
    )
    _check(document.claim == claim, f"the claim is not what the fields say: {claim}")
    for entry, (own, counts) in zip(document.certified, read, strict=True):
        _check_budget(document, entry, own, counts)


def _read_budgets(law: Law, document: CertificateDocument) -> list[tuple[Law, tuple[int, ...]]]:
    """What each entry counts: changes of any kind if it is a radius, otherwise those of each kind."""
    entries, read = document.certified, list[tuple[Law, tuple[int, ...]]]()
    for entry in entries:
        counts: tuple[int, ...] | None
        if isinstance(entry.budget, int):
            _check(len(entries) == 1, "a radius is not the only budget")
            own, counts = law.total(), (entry.budget,)
        else:
            own, counts = law, read_budget(law.axes, entry.budget) if len(law.axes) > 1 else None
        if counts is None:
            raise _DoesNotFollow("budgets are not of the noise's kinds of change")
        limits = [document.d if most is None else min(most, document.d) for most in own.most]
        _check(all(map(int.__le__, counts, limits)), "a budget has more changes than there can be")
        read.append((own, counts))
    _check(all(before < after for (_, before), (_, after) in pairwise(read)), "budgets are not in their order")
    return read


def _check_budget(document: CertificateDocument, entry: StatedEntry, law: Law, counts: tuple[int, ...]) -> None:
    if document.bounds is not None:
        _check_bounds(document)
        bounds = document.bounds
        _check(stays_ahead(law, counts, bounds.lower, bounds.upper), f"the bounds do not certify {entry.budget}")
        return
    assert entry.threshold is not None
    assert entry.min_count is not None
    assert entry.look is not None
    tau = threshold(law, counts, Fraction(1, document.top_k + 1))
    _check(tau < 1, f"no probability certifies {entry.budget}")
    rounded = -(-tau.numerator * 10**_DIGITS // tau.denominator)
    _check(int(entry.threshold.replace(".", "")) == rounded, f"the threshold of {entry.budget} is another one")
    _check(entry.look < len(document.looks), f"there is no look {entry.look}")
    look = document.looks[entry.look]
    shows = _find_test(document.stopping, look, tau)
    _check(entry.min_count <= look.n and shows(entry.min_count), f"min_count of {entry.budget} votes do not certify it")
    _check(
        entry.min_count == 0 or not shows(entry.min_count - 1), f"min_count of {entry.budget} is not the least count"
    )
    _check(look.count >= entry.min_count, f"the votes do not certify {entry.budget}")


def _find_test(stopping: str, look: StatedLook, tau: Fraction) -> Callable[[int], bool]:
    """Whether so many votes at this look show that p exceeds τ."""
    if stopping == "anytime":
        return lambda count: sequence_excludes(look.n, count, tau, look.failure)
    return lambda count: tail_is_below(look.n, count, tau, look.failure)


def _check_bounds(document: CertificateDocument) -> None:
    """The class at half of a look's failure, the others together at the other half."""
    bounds, others = document.bounds, len(document.counts) - 1
    assert bounds is not None
    _check(max(bounds.lower_look, bounds.upper_look) < len(document.looks), "bounds are of a look that there is not")
    lower, upper = document.looks[bounds.lower_look], document.looks[bounds.upper_look]
    shown = bounds.lower == 0 or tail_is_at_most(lower.n, lower.count, bounds.lower, lower.failure / 2)
    _check(shown, "the votes do not show the lower bound")
    assert upper.rival is not None
    share = upper.failure / (2 * others)
    shown = bounds.upper == 1 or tail_is_at_most(upper.n, upper.n - upper.rival, 1 - bounds.upper, share)
    _check(shown, "the votes do not show the upper bound")
