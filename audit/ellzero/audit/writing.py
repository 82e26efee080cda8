"""Certificates as documents: from the votes of a result, with thresholds and least counts of `ellzero.certificates`."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ellzero.audit.claims import StatedBudget, find_unit, write_claim
from ellzero.audit.counted_votes import CountedVotes, StatedLook
from ellzero.audit.document import CertificateDocument, StatedBounds, StatedEntry, is_digest
from ellzero.audit.laws import Law, UnknownLaw, read_law
from ellzero.certificates.binomial_tails import SuccessProbability
from ellzero.certificates.budget_thresholds import inverse_of_counts
from ellzero.certificates.certified_budgets import CertifiedBudgets
from ellzero.certificates.confidence_sequence import excludes
from ellzero.certificates.families.base import Family
from ellzero.certificates.families.composed import Total
from ellzero.certificates.families.registry import list_parameters, make_family
from ellzero.certificates.multiclass import upper_bound
from ellzero.certificates.products import Products
from ellzero.certificates.search import last_true_near
from ellzero.certificates.votes import Votes, least_count, lower_bound
from ellzero.core.canonical_json import write_canonical
from ellzero.core.errors import Inconsistent, InvalidInput

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PrivateKey

_DIGITS = 20
_PACKAGES = ("ellzero", "gmpy2", "numpy", "python-flint", "torch")


@dataclass(frozen=True)
class CertifiedObjects:
    """What a certificate is about: digests of the model and of the input (`digest_input`), and the input's shape.

    ``protected`` positions never change, and ``protected_sha256`` says which.
    """

    model_sha256: str
    input_sha256: str
    shape: tuple[int, ...]
    protected: int = 0
    protected_sha256: str | None = None

    def __post_init__(self) -> None:
        for name in ("model_sha256", "input_sha256", *(("protected_sha256",) if self.protected else ())):
            if not is_digest(getattr(self, name)):
                raise InvalidInput(name, "a SHA-256 as 64 lower-case hexadecimal digits", getattr(self, name))


def make_document(votes: CountedVotes, certified: CertifiedBudgets, objects: CertifiedObjects) -> CertificateDocument:
    """The document of what these votes certify: a radius, or a staircase of budgets.

    Raises `InvalidInput` for an abstention, which certifies nothing, and for noises without exact certificates.
    """
    if certified is None or certified == ():
        raise InvalidInput("result", "one that certifies something; an abstention claims nothing", "an abstention")
    if votes.runner_up and votes.top_k > 1:  # which verification does not know
        raise InvalidInput("top_k", "1 in documents with runner_up", votes.top_k)
    noise = dict(votes.noise)
    law = read_noise_law(noise)
    family, looks = _make_family(noise), votes.looks
    budgets: list[StatedBudget] = [certified] if isinstance(certified, int) else [dict(each) for each in certified]  # type: ignore[arg-type]
    bounds = _find_bounds(looks, len(votes.counts) - 1) if votes.runner_up else None
    entries = tuple(
        StatedEntry(budget) if votes.runner_up else _make_entry(family, budget, votes, looks) for budget in budgets
    )
    unit = find_unit(noise, law)
    return CertificateDocument(
        claim=write_claim(
            votes.failure, votes.selected, votes.top_k, budgets, law.axes, unit, votes.d, objects.protected
        ),
        noise=noise,
        unit=unit,
        d=votes.d,
        selected=votes.selected,
        top_k=votes.top_k,
        certified=entries,
        selection=votes.selection,
        counts=votes.counts,
        looks=looks,
        bounds=bounds,
        n0=votes.n0,
        n=votes.n,
        failure=votes.failure,
        seed=votes.seed,
        stopping=votes.stopping,
        versions=_list_versions(),
        **vars(objects),
    )


def read_noise_law(noise: Mapping[str, Any]) -> Law:
    """What verification takes a noise to be. Raises `InvalidInput` for those without exact certificates."""
    try:
        return read_law(dict(noise))
    except UnknownLaw:
        allowed = "of a family with exact certificates, such as discrete"
        raise InvalidInput("noise", allowed, noise.get("family")) from None


def sign_document(document: CertificateDocument, key: "Ed25519PrivateKey") -> bytes:
    """The bytes of the file, signed: the signature is of the same document without ``signature``."""
    fields = {**document.describe(), "public_key": key.public_key().public_bytes_raw().hex()}
    return write_canonical({**fields, "signature": key.sign(write_canonical(fields)).hex()})


def _make_entry(family: Family, budget: StatedBudget, votes: CountedVotes, looks: Sequence[StatedLook]) -> StatedEntry:
    """The threshold of a budget, and the first look that shows that p exceeds it."""
    of = Total(family) if isinstance(budget, int) and len(family.axes) > 1 else family
    tau = inverse_of_counts(of, of.read_budget(budget), Fraction(1, votes.top_k + 1), Products())
    rounded = -(-tau.numerator * 10**_DIGITS // tau.denominator)
    shown = f"{rounded // 10**_DIGITS}.{rounded % 10**_DIGITS:0{_DIGITS}d}"
    for place, look in enumerate(looks):
        least = _find_least(votes.stopping, look, tau)
        if least is not None and look.count >= least:
            return StatedEntry(budget, shown, least, place)
    raise Inconsistent(f"no look certifies {budget}")


def _find_least(stopping: str, look: StatedLook, tau: Fraction) -> int | None:
    """k*: the least count at this look that shows p > τ; None if there is none."""
    if tau == 1:
        return None
    if stopping != "anytime":
        return least_count(SuccessProbability(tau), look.n, look.failure)

    def shows(count: int) -> bool:
        return excludes(Votes(count, look.n, look.failure), SuccessProbability(tau))

    least = last_true_near(lambda count: not shows(count), look.count - 1, 0, look.n) + 1
    return least if least <= look.n else None


def _find_bounds(looks: Sequence[StatedLook], others: int) -> StatedBounds:
    """The best bound of the class, and the best of all others; all looks hold together, so any two do."""
    lowers = [lower_bound(Votes(look.count, look.n, look.failure / 2)) for look in looks]
    uppers = [upper_bound(Votes(look.rival or 0, look.n, look.failure / (2 * others))) for look in looks]
    lower, upper = lowers.index(max(lowers)), uppers.index(min(uppers))
    return StatedBounds(Fraction(lowers[lower]), lower, Fraction(uppers[upper]), upper)


def _make_family(noise: Mapping[str, Any]) -> Family:
    """The family of a noise, whose description may also say what its inputs look like."""
    return make_family(_keep_parameters(noise))


def _keep_parameters(noise: Mapping[str, Any]) -> dict[str, Any]:
    names = list_parameters(str(noise["family"]))
    return {"family": noise["family"], **{name: _keep_inner(noise[name]) for name in names}}


def _keep_inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return (
            _keep_parameters(value)
            if "family" in value
            else {name: _keep_parameters(each) for name, each in value.items()}
        )
    if isinstance(value, list):
        return [{**_keep_parameters(each), "columns": each["columns"]} for each in value]
    return value


def _list_versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
