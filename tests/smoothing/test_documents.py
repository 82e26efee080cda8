"""Certificates of real votes as documents: verified, drawn again, and the same whatever the input's type is."""

import hashlib
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from smoothing.small_models import Counting
from torch import nn

from ellzero.audit import RejectedCertificate, verify_document, verify_file
from ellzero.certificates import Discrete, Grouped, Sparse
from ellzero.core.errors import InvalidInput, StorageFailed
from ellzero.core.signing_keys import create_key
from ellzero.smoothing import (
    ABSTAIN,
    AblationNoise,
    DeletionNoise,
    DiscreteNoise,
    GaussianNoise,
    MaskNoise,
    SmoothedClassifier,
    make_certificate,
    write_certificate,
)
from ellzero.smoothing.documents import count_votes, describe_objects, redraw_votes
from ellzero.smoothing.models.card import ModelCard
from ellzero.smoothing.models.files import SavedModel

MODEL = hashlib.sha256(b"a model").hexdigest()
X = torch.tensor([1, 0, 1, 1, 0, 1, 0, 0])


class Leaning(nn.Module):
    """Nearly always the first of three classes."""

    def forward(self, samples: torch.Tensor) -> torch.Tensor:
        share = samples.float().flatten(1).mean(1)
        return torch.stack([torch.ones_like(share) * 0.95, share, share * 0.9], 1)


NOISES: list[Any] = [
    DiscreteNoise(1, "0.9"),
    DiscreteNoise(1, "0.8", unit="pixel", channels=2),
    Sparse("0.01", "0.6"),
    MaskNoise(1, "0.9"),
    DeletionNoise(1, "0.9", 8),
    Grouped([(Discrete(1, "0.8"), 3), (Discrete(1, "0.9"), 5)]),
]


@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: type(noise).__name__)
@pytest.mark.parametrize(
    ("stopping", "runner_up"),
    [("settled", False), ("staged", False), ("anytime", False), ("never", True), ("hasty", True)],
)
def test_documents_of_real_votes_are_verified(noise: Any, stopping: str, runner_up: bool) -> None:
    x = X.reshape(2, 2, 2) if isinstance(noise, DiscreteNoise) and noise.channels == 2 else X
    classifier = SmoothedClassifier(Leaning(), noise, 3, feed="levels")
    result = classifier.certify(x, 50, 2_000, "0.01", stopping=stopping, runner_up=runner_up, seed=7)
    assert result.radius is not None
    document = make_certificate(result, MODEL, x)
    verified = verify_document(document.encode()).document
    assert (verified.certified[0].budget, verified.selected, verified.d) == (result.radius, result.selected, result.d)
    assert verified.votes == count_votes(result)
    with pytest.raises(RejectedCertificate):
        verify_document(replace(document, seed=-1).encode())


def test_documents_are_not_made_of_what_no_verifier_covers() -> None:
    classifier = SmoothedClassifier(Leaning(), NOISES[0], 3, feed="levels")
    result = classifier.certify(X, 50, 500, "0.01", runner_up=True, top_k=2, seed=7)
    with pytest.raises(InvalidInput, match="top_k must be 1 for a document of a result with runner_up; got 2"):
        make_certificate(result, MODEL, X)


def test_staircases_have_an_entry_for_each_of_their_steps() -> None:
    classifier = SmoothedClassifier(Leaning(), Sparse("0.01", "0.6"), 3, feed="levels")
    result = classifier.certify(X, 50, 4_000, "0.01", seed=7)
    document = verify_document(make_certificate(result, MODEL, X, {"add": 2, "delete": 6}).encode()).document
    assert tuple(entry.budget for entry in document.certified) == result.budgets({"add": 2, "delete": 6})
    assert len(document.certified) > 1


def test_the_digest_of_an_input_is_that_of_its_shape_and_levels_whatever_their_type() -> None:
    expected = hashlib.sha256(b"ellzero input [2,4]\n" + struct.pack("<8I", *X.tolist())).hexdigest()
    for x in (X.reshape(2, 4), X.reshape(2, 4).to(torch.uint8), X.reshape(2, 4).t().contiguous().t()):
        assert describe_objects(MODEL, DiscreteNoise(1, "0.9").description(), x).input_sha256 == expected
    classifier = SmoothedClassifier(Counting(8, 3), DiscreteNoise(1, "0.9"), 3, feed="levels")
    result = classifier.certify(X, 50, 2_000, "0.01", seed=7)
    inputs: list[Any] = [X, X.numpy().astype(np.uint8), X.double(), X.tolist(), X.bool()]
    assert len({make_certificate(result, MODEL, x).input_sha256 for x in inputs}) == 1
    assert make_certificate(result, MODEL, X.flip(0)).input_sha256 != make_certificate(result, MODEL, X).input_sha256


def test_what_certifies_nothing_or_nothing_exact_has_no_document() -> None:
    certified = SmoothedClassifier(Leaning(), MaskNoise(1, "0.9"), 3, feed="levels").certify(X, 10, 1_000)
    with pytest.raises(InvalidInput, match="an abstention claims nothing"):
        make_certificate(replace(certified, radius=None, prediction=ABSTAIN), MODEL, X)
    gaussian = SmoothedClassifier(Leaning(), GaussianNoise("0.5", k=1), 3).certify(X, 10, 1_000, seed=1)
    with pytest.raises(InvalidInput, match="noise must be of a family with exact certificates"):
        make_certificate(gaussian, MODEL, X)
    with pytest.raises(InvalidInput, match="model_sha256 must be a SHA-256"):
        make_certificate(certified, "mine", X)


def test_files_are_written_and_signed(tmp_path: Path) -> None:
    classifier = SmoothedClassifier(Leaning(), DiscreteNoise(1, "0.9"), 3, feed="levels")
    result, key = classifier.certify(X, 50, 2_000, "0.01", seed=7), create_key(tmp_path / "key.pem")
    write_certificate(result, tmp_path / "plain.json", MODEL, X)
    write_certificate(result, tmp_path / "signed.json", MODEL, X, key=key)
    assert verify_file(tmp_path / "plain.json").signer is None
    assert verify_file(tmp_path / "signed.json", key.public_key()).signer is not None
    with pytest.raises(StorageFailed, match="Is a directory"):
        write_certificate(result, tmp_path, MODEL, X)


@pytest.mark.parametrize(
    "noise",
    [DiscreteNoise(1, "0.9"), MaskNoise(9, "0.9", mask_token=4), AblationNoise(1, 6, 1), Sparse("0.01", "0.6")],
    ids=["discrete", "mask", "ablation", "sparse"],
)
def test_protected_positions_are_in_the_document(noise: Any, tmp_path: Path) -> None:
    mask = [True, False, False, True, False, False, False, False]
    classifier = SmoothedClassifier(Leaning(), noise, 3, feed="levels")
    result = classifier.certify(X, 50, 2_000, "0.01", protected=mask, seed=7)
    document = make_certificate(result, MODEL, X, protected=mask)
    verified = verify_document(document.encode()).document
    assert (verified.d, verified.protected, verified.shape) == (6, 2, (8,))
    assert "the 2 protected ones unchanged" in verified.claim
    packed = struct.pack("<8I", *map(int, mask))
    assert verified.protected_sha256 == hashlib.sha256(b"ellzero input [8]\n" + packed).hexdigest()
    changes: list[dict[str, Any]] = [{"protected": 1}, {"protected": 3}, {"d": 8}, {"d": 5}]
    for wrong in changes:
        with pytest.raises(RejectedCertificate):
            verify_document(replace(document, **wrong).encode())
    with pytest.raises(
        InvalidInput, match="^protected must be the 2 positions of the result; got 0|^x must be an input of 6"
    ):
        make_certificate(result, MODEL, X)
    card = ModelCard("leaning", (8,), 3, classifier.noise.levels, "levels")
    saved = SavedModel(Leaning(), card, MODEL)
    assert redraw_votes(document, saved, X, mask) == []
    others = [True, True, *[False] * 6]
    for wrong_mask in (None, others):
        if wrong_mask is None and isinstance(noise, AblationNoise):
            continue
        (difference,) = redraw_votes(document, saved, X, wrong_mask)
        assert difference.startswith("the protected positions are others: ")
