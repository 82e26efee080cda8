"""Certificates of results as documents, which others verify: see `ellzero.audit`. And the votes of one, drawn again."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ellzero.audit import (
    CertificateDocument,
    CertifiedObjects,
    CountedVotes,
    digest_input,
    make_document,
    make_looks,
    sign_document,
)
from ellzero.audit.counted_votes import StatedLook
from ellzero.certificates.families.base import Budget
from ellzero.core.errors import InvalidInput, StorageFailed
from ellzero.smoothing.classifier import SmoothedClassifier
from ellzero.smoothing.models.model_io import InputLike, read_levels
from ellzero.smoothing.noise.protected import Mask, MaskLike, read_input
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.results import Certified
from ellzero.smoothing.sampling.stopping_rules import Stopping

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PrivateKey
    from ellzero.smoothing.models.files import SavedModel


def make_certificate(
    result: Certified,
    model_sha256: str,
    x: InputLike,
    limits: Budget | None = None,
    *,
    protected: MaskLike | None = None,
) -> CertificateDocument:
    """The document of a result: of its radius, or with ``limits`` of its `Certified.budgets`.

    ``model_sha256`` is the digest of the model's file, or of whatever says which model it is to those who get the
    document. ``x`` is the input that was certified, and ``protected`` its protected positions, if there were any.
    Raises `InvalidInput` for an abstention, which claims nothing.
    """
    certified = result.radius if limits is None else result.budgets(limits)
    objects = describe_objects(model_sha256, result.noise, x, protected)
    if objects.protected != result.protected:
        raise InvalidInput("protected", f"the {result.protected} positions of the result", objects.protected)
    return make_document(count_votes(result), certified, objects)


def write_certificate(
    result: Certified,
    path: Path,
    model_sha256: str,
    x: InputLike,
    limits: Budget | None = None,
    key: "Ed25519PrivateKey | None" = None,
    *,
    protected: MaskLike | None = None,
) -> None:
    """Write `make_certificate` to a file, signed if there is a key."""
    document = make_certificate(result, model_sha256, x, limits, protected=protected)
    data = document.encode() if key is None else sign_document(document, key)
    try:
        path.write_bytes(data)
    except OSError as error:
        raise StorageFailed(str(path), error.strerror or "cannot be written") from None


def count_votes(result: Certified) -> CountedVotes:
    """The votes of a result, as certificates have them."""
    runner_up = result.upper_bound is not None
    staged = tuple(StatedLook(look.n, look.failure, look.count, look.rival) for look in result.looks)
    stopping, counts = str(result.stopping), result.counts
    return CountedVotes(
        noise=result.noise,
        d=result.d,
        selected=result.selected,
        selection=result.selection,
        counts=counts,
        looks=make_looks(counts, result.selected, result.n, result.failure, stopping, runner_up, staged),
        n0=result.n0,
        n=result.n,
        failure=result.failure,
        seed=result.seed,
        stopping=stopping,
        runner_up=runner_up,
        top_k=result.top_k,
    )


def describe_objects(
    model_sha256: str, noise: Mapping[str, Any], x: InputLike, protected: MaskLike | None = None
) -> CertifiedObjects:
    """What a certificate under this noise is about. The digest of a mask is that of an input which is 1 where it is
    true, in the shape of the units."""
    levels, mask = _read_input(noise, x, protected)
    objects = CertifiedObjects(model_sha256, _digest_array(levels), levels.shape)
    if mask is None:
        return objects
    return replace(objects, protected=int(mask.sum()), protected_sha256=_digest_array(mask))


def redraw_votes(
    document: CertificateDocument, saved: "SavedModel", x: InputLike, protected: MaskLike | None = None
) -> list[str]:
    """What differs if the votes of a certificate are drawn again from its seed, on the CPU; nothing if all is as it
    says. Votes that were drawn on a GPU, or by a model in reduced precision, are others."""
    differences = []
    if saved.digest != document.model_sha256:
        differences.append(f"the model is another one: its SHA-256 is {saved.digest}")
    objects = describe_objects(saved.digest, document.noise, x, protected)
    if objects.input_sha256 != document.input_sha256:
        differences.append(f"the input is another one: its SHA-256 is {objects.input_sha256}")
    if (objects.protected, objects.protected_sha256) != (document.protected, document.protected_sha256):
        those = f"{objects.protected} with the SHA-256 {objects.protected_sha256}" if objects.protected else "none"
        differences.append(f"the protected positions are others: {those} were given")
    if differences:
        return differences
    classes = saved.card.num_classes
    classifier = SmoothedClassifier(saved.network, make_noise(document.noise), classes, "cpu", feed=saved.card.feed)
    result = classifier.certify(
        x,
        document.n0,
        document.n,
        document.failure,
        protected=protected,
        top_k=document.top_k,
        runner_up=document.runner_up,
        stopping=Stopping(document.stopping),
        seed=document.seed,
    )
    drawn, stated = count_votes(result), document.votes
    pairs = (
        ("the votes that choose the class", drawn.selection, stated.selection),
        ("the votes that bound it", drawn.counts, stated.counts),
        ("the votes at the looks", drawn.looks, stated.looks),
    )
    return [f"{name} are others when they are drawn again" for name, mine, theirs in pairs if mine != theirs]


def _read_input(noise: Mapping[str, Any], x: InputLike, protected: MaskLike | None) -> tuple[NDArray[Any], Mask | None]:
    made = make_noise(noise)
    return read_input(made, read_levels(x, made.levels), protected)


def _digest_array(values: NDArray[Any]) -> str:
    return digest_input(values.shape, values.astype("<u4").tobytes())
