from ellzero.audit.counted_votes import CountedVotes as CountedVotes, make_looks as make_looks
from ellzero.audit.document import CertificateDocument as CertificateDocument, digest_input as digest_input
from ellzero.audit.errors import RejectedCertificate as RejectedCertificate
from ellzero.audit.verification import (
    VerifiedCertificate as VerifiedCertificate,
    verify_document as verify_document,
    verify_file as verify_file,
)
from ellzero.audit.writing import (
    CertifiedObjects as CertifiedObjects,
    make_document as make_document,
    sign_document as sign_document,
)
