"""What was found, said without saying it: kind and fingerprint of a secret, and the marker that stands in its place."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

import msgspec

FINGERPRINT_HEX_DIGITS: Final = 8
MARKER: Final = re.compile(r"\[REDACTED:[a-z0-9_]{1,40}:[0-9a-f]{8}\]")


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


def secrets_of(text: str, redacted: str) -> dict[str, str]:
    """Return what of a text was replaced in its redacted spelling, and by which marker."""
    pattern = "(.+?)".join(re.escape(part) for part in MARKER.split(redacted))
    found = re.fullmatch(pattern, text, re.DOTALL)
    return dict(zip(found.groups(), MARKER.findall(redacted), strict=True)) if found is not None else {}
