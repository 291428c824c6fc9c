"""What was found, said without saying it: kind and fingerprint of a secret, and the marker that stands in its place."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

import msgspec

from recollect.visible import MARKER

__all__ = ["FINGERPRINT_HEX_DIGITS", "MARKER", "Finding", "finding_of"]

FINGERPRINT_HEX_DIGITS: Final = 8


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One secret that was replaced.

    kind: slug of the detector that knows it best. fingerprint: first 8 hex digits of HMAC-SHA256(marker key, secret),
    so that one secret is recognised everywhere in a home and can be guessed by nobody without its key.
    """

    kind: str
    fingerprint: str

    @property
    def marker(self) -> str:
        """The text that replaces the secret."""
        return f"[REDACTED:{self.kind}:{self.fingerprint}]"


def finding_of(kind: str, secret: str, marker_key: bytes) -> Finding:
    """Return the finding for a secret. Lone surrogates are allowed in it: transcripts hold them."""
    mac = hmac.new(marker_key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return Finding(kind=kind, fingerprint=mac.hexdigest()[:FINGERPRINT_HEX_DIGITS])
