"""Certificates of results as documents, which others verify: see `ellzero.audit`. And the votes of one, drawn again."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

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
from ellzero.smoothing.models.files import SavedModel
from ellzero.smoothing.models.model_io import InputLike, read_levels
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.results import Certified
from ellzero.smoothing.sampling.stopping_rules import Stopping

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PrivateKey


def make_certificate(
    result: Certified, model_sha256: str, x: InputLike, limits: Budget | None = None
) -> CertificateDocument:
    """The document of a result: of its radius, or with ``limits`` of its `Certified.budgets`.

    ``model_sha256`` is the digest of the model's file, or of whatever says which model it is to those who get the
    document. ``x`` is the input that was certified. Raises `InvalidInput` for an abstention, which claims nothing.
    """
    levels = _read_input(result.noise, x)
    certified = result.radius if limits is None else result.budgets(limits)
    objects = CertifiedObjects(model_sha256, digest_levels(levels), tuple(levels.shape))
    return make_document(count_votes(result), certified, objects)


def write_certificate(
    result: Certified,
    path: Path,
    model_sha256: str,
    x: InputLike,
    limits: Budget | None = None,
    key: "Ed25519PrivateKey | None" = None,
) -> None:
    """Write `make_certificate` to a file, signed if there is a key."""
    document = make_certificate(result, model_sha256, x, limits)
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
        top_k=getattr(result, "top_k", 1),
    )


def digest_levels(levels: Tensor) -> str:
    """The digest of an input, whatever the type of its numbers is."""
    return digest_input(tuple(levels.shape), levels.to(torch.int64).numpy().astype("<u4").tobytes())


def redraw_votes(document: CertificateDocument, saved: SavedModel, x: InputLike) -> list[str]:
    """What differs if the votes of a certificate are drawn again from its seed, on the CPU; nothing if all is as it
    says. Votes that were drawn on a GPU, or by a model in reduced precision, are others."""
    differences = []
    if saved.digest != document.model_sha256:
        differences.append(f"the model is another one: its SHA-256 is {saved.digest}")
    levels = _read_input(document.noise, x)
    if digest_levels(levels) != document.input_sha256:
        differences.append(f"the input is another one: its SHA-256 is {digest_levels(levels)}")
    if differences:
        return differences
    if document.protected:
        raise InvalidInput("certificate", "one without protected positions, to draw its votes again", "one with some")
    classes = saved.card.num_classes
    classifier = SmoothedClassifier(saved.network, make_noise(document.noise), classes, "cpu", feed=saved.card.feed)
    result = classifier.certify(
        levels,
        document.n0,
        document.n,
        document.failure,
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


def _read_input(noise: Mapping[str, Any], x: InputLike) -> Tensor:
    made = make_noise(noise)
    return made.read_batch(read_levels(x, made.levels).unsqueeze(0)).squeeze(0)
