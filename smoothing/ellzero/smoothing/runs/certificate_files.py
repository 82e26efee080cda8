"""The certificates of a run as documents, one for each input, beside its results."""

from typing import TYPE_CHECKING, Final

from ellzero.audit import CertifiedObjects, make_document, sign_document
from ellzero.core.storage import Folder
from ellzero.smoothing.data.datasets import DataSet
from ellzero.smoothing.documents import digest_levels
from ellzero.smoothing.models.model_io import read_levels
from ellzero.smoothing.noise.registry import make_noise
from ellzero.smoothing.runs.counted_rows import read_rows
from ellzero.smoothing.runs.result_store import ResultStore

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PrivateKey

CERTIFICATES: Final = "certificates"
"""The folder within that of the results."""


def write_certificates(
    store: ResultStore, data: DataSet, model_sha256: str, key: "Ed25519PrivateKey | None" = None
) -> int:
    """Write a document for each input of a run that has a certificate, and return how many. Abstentions have none.

    The files are named by the place of their input in the data set: ``certificates/000000007.json``.
    """
    folder, written = Folder(f"{store.folder.location}/{CERTIFICATES}"), 0
    folder.prepare()
    for row in read_rows(store):
        if row.radius is None:
            continue
        noise = make_noise(row.votes.noise)
        levels = noise.read_batch(read_levels(data.inputs([row.index]), noise.levels))[0]
        objects = CertifiedObjects(model_sha256, digest_levels(levels), tuple(levels.shape))
        document = make_document(row.votes, row.radius, objects)
        folder.write(f"{row.index:09d}.json", document.encode() if key is None else sign_document(document, key))
        written += 1
    return written
