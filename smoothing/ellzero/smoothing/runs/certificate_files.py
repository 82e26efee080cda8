"""The certificates of a run as documents, one for each input, beside its results."""

import re
from typing import TYPE_CHECKING, Final

from ellzero.audit import make_document, sign_document
from ellzero.core.storage import Folder
from ellzero.smoothing.data.datasets import DataSet, read_one
from ellzero.smoothing.documents import describe_objects
from ellzero.smoothing.runs.counted_rows import read_rows
from ellzero.smoothing.runs.result_store import ResultStore

if TYPE_CHECKING:
    from ellzero.core.signing_keys import Ed25519PrivateKey

CERTIFICATES: Final = "certificates"
"""The folder within that of the results."""
_NAME = re.compile(r"[0-9]{9}\.json", re.ASCII)


def write_certificates(
    store: ResultStore, data: DataSet, model_sha256: str, key: "Ed25519PrivateKey | None" = None
) -> int:
    """Write a document for each input of a run that has a certificate, and return how many. Abstentions have none.

    The files are named by the place of their input in the data set: ``certificates/000000007.json``. Those of an
    earlier run are removed.
    """
    remove_certificates(store)
    folder, written = _find_folder(store), 0
    folder.prepare()
    for row in read_rows(store):
        if row.radius is None:
            continue
        objects = describe_objects(model_sha256, row.votes.noise, *read_one(data, row.index))
        document = make_document(row.votes, row.radius, objects)
        folder.write(f"{row.index:09d}.json", document.encode() if key is None else sign_document(document, key))
        written += 1
    return written


def remove_certificates(store: ResultStore) -> None:
    """Remove the documents of a run, and no other file."""
    folder = _find_folder(store)
    folder.remove([name for name in folder.files() if _NAME.fullmatch(name)])


def _find_folder(store: ResultStore) -> Folder:
    place, mark, options = store.folder.location.partition("?")  # of an object store
    return Folder(f"{place}/{CERTIFICATES}{mark}{options}")
