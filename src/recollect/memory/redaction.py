"""Redacts any text in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import IO

from recollect.config import PrivacyConfig
from recollect.privacy.redact import STRANGERS_KEY, Redactor, redactor_of

_WINDOW_BYTES = 4 * 1024 * 1024
_CARRIED_BYTES = 128 * 1024
"""How much is kept back for what may go on in the next window: a key of several lines, a line without an end."""
_BEGIN, _END = b"-----BEGIN ", b"-----END "


def without_secrets(text: str, privacy: PrivacyConfig | None = None) -> str:
    """Return a short text with every secret replaced by its marker. Needs and creates no memory."""
    return redactor_of(STRANGERS_KEY, privacy).redact_text(text)[0]


def redact_stream(source: IO[bytes], out: IO[bytes], privacy: PrivacyConfig | None = None) -> dict[str, int]:
    """Copy text with every secret replaced by its marker; return the number of secrets by kind.

    Bytes that are not UTF-8 pass unchanged. Finds secrets across window boundaries unless longer than 128 KiB. privacy:
    your own patterns and exceptions.
    """
    redactor = redactor_of(STRANGERS_KEY, privacy)
    found: Counter[str] = Counter()
    pending = b""
    while piece := source.read(_WINDOW_BYTES):
        pending += piece
        cut = _cut(pending)
        out.write(_redacted(redactor, pending[:cut], found))
        pending = pending[cut:]
    out.write(_redacted(redactor, pending, found))
    out.flush()
    return dict(found)


def _cut(data: bytes) -> int:
    """Return where data may be cut: after a line, before a block that has begun and not ended."""
    least = max(len(data) - _CARRIED_BYTES, 0)
    cut = data.rfind(b"\n") + 1
    begun = data.rfind(_BEGIN, least, cut)
    if begun >= 0 and data.find(_END, begun, cut) < 0:
        cut = data.rfind(b"\n", 0, begun) + 1
    if cut >= least:
        return cut
    while least and data[least] & 0xC0 == 0x80:  # not inside a character
        least -= 1
    return least


def _redacted(redactor: Redactor, data: bytes, found: Counter[str]) -> bytes:
    if not data:
        return b""
    text, findings = redactor.redact_text(data.decode("utf-8", "surrogateescape"))
    found.update(finding.kind for finding in findings)
    return text.encode("utf-8", "surrogateescape") if findings else data
