"""What was found, said without saying it: the kind of a secret and its keyed fingerprint."""

from __future__ import annotations

import hashlib
import hmac

import msgspec

from recollect.model.marker import FINGERPRINT_DIGITS, marker_of


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One secret that was replaced.

    kind: slug of the detector that knows it best. fingerprint: first 8 hex digits of HMAC-SHA256(marker key, secret),
    so that one secret is recognised everywhere in a home and can be guessed by nobody without its key; "" for a private
    span.
    """

    kind: str
    fingerprint: str

    @property
    def marker(self) -> str:
        """The text that replaces the secret."""
        return marker_of(self.kind, self.fingerprint)


def finding_of(kind: str, secret: str, marker_key: bytes) -> Finding:
    """Return the finding for a secret. Lone surrogates are allowed in it: transcripts hold them."""
    mac = hmac.new(marker_key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return Finding(kind=kind, fingerprint=mac.hexdigest()[:FINGERPRINT_DIGITS])
