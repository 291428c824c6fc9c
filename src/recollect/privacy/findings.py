"""Findings and their replacement: the markers of secrets and private text.

`<private>…</private>` in any text is replaced before anything else sees it. The exact bytes stay sealed in the archive;
nothing derived from them (index, nodes, digests, answers, exports) has the words between the tags.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

import msgspec

from recollect.late import late_pattern
from recollect.model.marker import FINGERPRINT_DIGITS, PRIVATE_MARKER, marker_of


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


PRIVATE_KIND: Final = "private"
"""How findings and counts name such a span."""
PRIVATE_LITERALS: Final = (b"<private", b"<Private", b"<PRIVATE")
"""Of which one is in the bytes of every text that `strip_private` changes, unless they are written as escapes."""
PRIVATE_RAW: Final = late_pattern(rb"<(?:private|Private|PRIVATE)(?:>|\s|\\[fnrtu])")
"""Matches in JSON bytes, where a literal begins, whenever `strip_private` would find a span; may be loose."""

_TAG: Final = late_pattern(r"<(?P<close>/?)(?:private|Private|PRIVATE)(?:\s[^<>]{0,200})?>", re.ASCII)


def strip_private(text: str) -> tuple[str, int]:
    """Return the text with every private span replaced by the marker, and how many those were.

    A span ends at its closing tag, spans inside it counted; one that is never closed goes to the end of the text. A
    closing tag without an opening one stays. Idempotent; a text without spans comes back as the same object.
    """
    if "<private" not in text and "<Private" not in text and "<PRIVATE" not in text:
        return text, 0
    pieces: list[str] = []
    depth = done = count = 0
    for tag in _TAG.finditer(text):
        if not tag["close"]:
            if not depth:
                pieces += (text[done : tag.start()], PRIVATE_MARKER)
                count += 1
            depth += 1
        elif depth:
            depth -= 1
            done = tag.end()
    if not count:
        return text, 0
    if not depth:
        pieces.append(text[done:])
    return "".join(pieces), count
