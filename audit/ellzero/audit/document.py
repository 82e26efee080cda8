"""The document of a certificate: what its fields are, and how they are read from canonical JSON and written to it.

docs/certificates.md has the format, field by field. Reading checks the type and range of every field, and nothing that
two fields say together: that is `verification`.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from ellzero.audit.claims import StatedBudget
from ellzero.audit.counted_votes import CountedVotes, StatedLook
from ellzero.audit.laws import read_fraction
from ellzero.audit.looks import STOPPING
from ellzero.core.canonical_json import write_canonical

FORMAT: Final = 1
# Part of what is signed, so that no other document signed with the same key passes for a certificate.
KIND: Final = "ellzero certificate"
MOST_BYTES: Final = 2_000_000
_MOST_VOTES, _MOST_D, _MOST_CLASSES, _MOST_BUDGETS = 10**8, 2**31 - 1, 100_000, 1_000
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{128}", re.ASCII)
_DECIMAL = re.compile(r"[01]\.[0-9]{20}", re.ASCII)
_PACKAGE = re.compile(r"[a-z0-9_-]{1,40}", re.ASCII)
_VERSION = re.compile(r"[!-~]{1,100}", re.ASCII)


class MalformedField(ValueError):
    """A field that no certificate has; the message continues "the document …"."""


@dataclass(frozen=True)
class StatedEntry:
    """A budget that is certified. With one class bounded: its threshold, rounded up, the least count that exceeds it,
    and the look that has that count."""

    budget: StatedBudget
    threshold: str | None = None
    min_count: int | None = None
    look: int | None = None


@dataclass(frozen=True)
class StatedBounds:
    """Bounds of the class and of every other, and the looks that prove them."""

    lower: Fraction
    lower_look: int
    upper: Fraction
    upper_look: int


@dataclass(frozen=True)
class CertificateDocument:
    """A certificate that stands by itself. ``protected``: how many positions never change, and the digest of which."""

    claim: str
    noise: dict[str, Any]
    unit: str
    d: int
    selected: int
    top_k: int
    certified: tuple[StatedEntry, ...]
    selection: tuple[int, ...]
    counts: tuple[int, ...]
    looks: tuple[StatedLook, ...]
    bounds: StatedBounds | None
    n0: int
    n: int
    failure: Fraction
    seed: int
    stopping: str
    model_sha256: str
    input_sha256: str
    shape: tuple[int, ...]
    versions: dict[str, str]
    protected: int = 0
    protected_sha256: str | None = None

    @property
    def runner_up(self) -> bool:
        """Whether all other classes are bounded too."""
        return self.bounds is not None

    @property
    def votes(self) -> CountedVotes:
        """The votes, without what is claimed of them."""
        return CountedVotes(
            self.noise,
            self.d,
            self.selected,
            self.selection,
            self.counts,
            self.looks,
            self.n0,
            self.n,
            self.failure,
            self.seed,
            self.stopping,
            self.runner_up,
            self.top_k,
        )

    def describe(self) -> dict[str, Any]:
        """As JSON has it."""
        document: dict[str, Any] = {
            "certified": [_leave_out(vars(entry)) for entry in self.certified],
            "claim": self.claim,
            "class": self.selected,
            "counts": list(self.counts),
            "d": self.d,
            "failure": str(self.failure),
            "format": FORMAT,
            "input": {"sha256": self.input_sha256, "shape": list(self.shape)},
            "kind": KIND,
            "looks": [_leave_out({**vars(look), "failure": str(look.failure)}) for look in self.looks],
            "model": {"sha256": self.model_sha256},
            "n": self.n,
            "n0": self.n0,
            "noise": self.noise,
            "runner_up": self.runner_up,
            "seed": self.seed,
            "selection": list(self.selection),
            "stopping": self.stopping,
            "top_k": self.top_k,
            "unit": self.unit,
            "versions": self.versions,
        }
        if self.bounds is not None:
            lower, upper = str(self.bounds.lower), str(self.bounds.upper)
            document["bounds"] = {**vars(self.bounds), "lower": lower, "upper": upper}
        if self.protected:
            document["protected"] = {"positions": self.protected, "sha256": self.protected_sha256}
        return document

    def encode(self) -> bytes:
        """The bytes of the file, not signed; these are what a signature is of, without its own field."""
        return write_canonical(self.describe())


def digest_input(shape: Sequence[int], levels: bytes) -> str:
    """The SHA-256 of an input, whatever its type was: ``levels`` are its numbers as unsigned integers of 32 bits, the
    lowest byte first, in the order of the last axis. Before them comes the shape: ``ellzero input [1,28,28]`` and a
    line feed."""
    head = b"ellzero input " + write_canonical(list(shape)) + b"\n"
    return hashlib.sha256(head + levels).hexdigest()


def parse_document(document: object) -> CertificateDocument:
    """The document with these fields, each of its type and range. Raises `MalformedField`."""
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise MalformedField(f'is not of the kind "{KIND}"')
    if type(document.get("format")) is not int or document["format"] != FORMAT:
        raise MalformedField(f"is not of format {FORMAT}, which is the one that this ellzero reads")
    runner_up = document.get("runner_up")
    optional = {"protected", "public_key", "signature"} & document.keys()
    needed = {*_FIELDS, "format", "kind", "runner_up"} - ({"bounds"} if runner_up is not True else set())
    _check_names(document, needed | optional, "the document")
    values = {name: _read(read, document[name], name) for name, read in _FIELDS.items() if name in document}
    if type(runner_up) is not bool:
        raise MalformedField("has a field runner_up that no certificate has")
    protected, digest = (
        _read(_read_protected, document["protected"], "protected") if "protected" in optional else (0, None)
    )
    (shape, input_digest), stopping = values["input"], values["stopping"]
    certified = tuple(_read_entry(each, runner_up) for each in values["certified"])
    looks = tuple(_read_look(each, runner_up) for each in values["looks"])
    return CertificateDocument(
        values["claim"],
        values["noise"],
        values["unit"],
        values["d"],
        values["class"],
        values["top_k"],
        certified,
        values["selection"],
        values["counts"],
        looks,
        values.get("bounds"),
        values["n0"],
        values["n"],
        values["failure"],
        values["seed"],
        stopping,
        values["model"],
        input_digest,
        shape,
        values["versions"],
        protected,
        digest,
    )


def is_signature(value: object) -> bool:
    """Whether it is a signature in hex."""
    return isinstance(value, str) and _SIGNATURE.fullmatch(value) is not None


def is_digest(value: object) -> bool:
    """Whether it is 32 bytes in hex: a digest, or a public key."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _read(read: Callable[[Any], Any], value: object, name: str) -> Any:
    try:
        return read(value)
    except MalformedField:
        raise
    except (ValueError, TypeError, KeyError, ZeroDivisionError):
        raise MalformedField(f"has a field {name} that no certificate has") from None


def _check_names(fields: object, needed: set[str], where: str) -> None:
    if not isinstance(fields, dict) or fields.keys() != needed:
        raise MalformedField(f"does not have exactly these fields in {where}: {', '.join(sorted(needed))}")


def _integer(low: int, high: int) -> Callable[[Any], int]:
    def read(value: object) -> int:
        if type(value) is not int or not low <= value <= high:
            raise ValueError(value)
        return value

    return read


def _text(value: object, pattern: re.Pattern[str] | None = None) -> str:
    if not isinstance(value, str) or not (value.isprintable() if pattern is None else pattern.fullmatch(value)):
        raise ValueError(value)
    return value


def _read_digest(value: object) -> str:
    return _text(value, _DIGEST)


def _read_votes(value: object) -> tuple[int, ...]:
    read = _integer(0, _MOST_VOTES)
    if not isinstance(value, list) or not 2 <= len(value) <= _MOST_CLASSES:
        raise ValueError(value)
    return tuple(map(read, value))


def _read_failure(value: object) -> Fraction:
    failure = read_fraction(value)
    if not 0 < failure < 1:
        raise ValueError(value)
    return failure


def _read_share(value: object) -> Fraction:
    share = read_fraction(value)
    if not 0 <= share <= 1:
        raise ValueError(value)
    return share


def _read_mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(value)
    return value


def _read_list(most: int) -> Callable[[Any], list[Any]]:
    def read(value: object) -> list[Any]:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise ValueError(value)
        return value

    return read


def _read_input(value: object) -> tuple[tuple[int, ...], str]:
    _check_names(value, {"sha256", "shape"}, "input")
    assert isinstance(value, dict)
    return tuple(map(_integer(1, _MOST_D), _read_list(64)(value["shape"]))), _read_digest(value["sha256"])


def _read_model(value: object) -> str:
    _check_names(value, {"sha256"}, "model")
    assert isinstance(value, dict)
    return _read_digest(value["sha256"])


def _read_protected(value: object) -> tuple[int, str]:
    _check_names(value, {"positions", "sha256"}, "protected")
    assert isinstance(value, dict)
    return _integer(1, _MOST_D)(value["positions"]), _read_digest(value["sha256"])


def _read_stopping(value: object) -> str:
    if value not in STOPPING:
        raise ValueError(value)
    return str(value)


def _read_versions(value: object) -> dict[str, str]:
    versions = _read_mapping(value)
    if not {"ellzero", "python"} <= versions.keys() or len(versions) > 100:
        raise ValueError(value)
    return {_text(name, _PACKAGE): _text(version, _VERSION) for name, version in versions.items()}


def _read_bounds(value: object) -> StatedBounds:
    _check_names(value, {"lower", "lower_look", "upper", "upper_look"}, "bounds")
    assert isinstance(value, dict)
    place = _integer(0, _MOST_VOTES)
    lower, upper = _read_share(value["lower"]), _read_share(value["upper"])
    return StatedBounds(lower, place(value["lower_look"]), upper, place(value["upper_look"]))


def _read_look(value: object, runner_up: bool) -> StatedLook:
    names = {"n", "failure", "count"} | ({"rival"} if runner_up else set())
    _check_names(value, names, "a look")
    assert isinstance(value, dict)
    votes = _integer(0, _MOST_VOTES)
    n, count = _read(_integer(1, _MOST_VOTES), value["n"], "looks"), _read(votes, value["count"], "looks")
    rival = _read(votes, value["rival"], "looks") if runner_up else None
    return StatedLook(n, _read(_read_failure, value["failure"], "looks"), count, rival)


def _read_entry(value: object, runner_up: bool) -> StatedEntry:
    names = {"budget"} | (set() if runner_up else {"threshold", "min_count", "look"})
    _check_names(value, names, "what is certified")
    assert isinstance(value, dict)
    budget = value["budget"]
    if not isinstance(budget, dict):
        budget = _read(_integer(0, _MOST_D), budget, "certified")
    if runner_up:
        return StatedEntry(budget)
    threshold = _read(lambda text: _text(text, _DECIMAL), value["threshold"], "certified")
    count = _read(_integer(0, _MOST_VOTES), value["min_count"], "certified")
    return StatedEntry(budget, threshold, count, _read(_integer(0, _MOST_VOTES), value["look"], "certified"))


_FIELDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "bounds": _read_bounds,
    "certified": _read_list(_MOST_BUDGETS),
    "claim": _text,
    "class": _integer(0, _MOST_CLASSES),
    "counts": _read_votes,
    "d": _integer(1, _MOST_D),
    "failure": _read_failure,
    "input": _read_input,
    "looks": _read_list(1_000),
    "model": _read_model,
    "n": _integer(1, _MOST_VOTES),
    "n0": _integer(1, _MOST_VOTES),
    "noise": _read_mapping,
    "seed": _integer(0, 2**63 - 1),
    "selection": _read_votes,
    "stopping": _read_stopping,
    "top_k": _integer(1, 1_000),
    "unit": _text,
    "versions": _read_versions,
}


def _leave_out(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without what there is not."""
    return {name: value for name, value in fields.items() if value is not None}
