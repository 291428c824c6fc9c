"""Returns the original text of events, with secrets, from the sealed archive.

Markers say what kind of secret they stand for and carry a keyed fingerprint of it. The record of an event is read and
searched again; a text found in it is taken for a secret only if it has the marker's fingerprint. So nothing is guessed,
and what was redacted by older detectors is found as well where it still is found at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec

from recollect.model.events import Event, SourceLocation
from recollect.model.marker import SECRET_MARKER, parts_of_marker
from recollect.privacy.findings import finding_of, strip_private
from recollect.privacy.redact import Redactor
from recollect.visible import complete

_MAX_SECRET_CHARS = 16_384
"""Longer secrets are not looked for (the longest kind, a private key of 16,384 bits, has some 13,000)."""


class RevealedEvent(msgspec.Struct, frozen=True):
    """An event with its original text. payload: as `event`'s, with the secrets.

    secrets: how many markers were replaced. left: markers for which no present detector finds a secret in the record;
    the record's exact bytes contain it.
    """

    session_uid: str
    seq: int
    event_id: str
    part: int
    kind: str
    role: str
    ts: int | None
    location: SourceLocation
    payload: Any
    secrets: int
    left: tuple[str, ...] = ()


def reveal(
    events: Iterable[Event], read_record: Callable[[SourceLocation], bytes], redactor: Redactor, marker_key: bytes
) -> Iterator[RevealedEvent]:
    """Yield events in their original words; only records of events with a marker are read.

    Raises what `read_record` raises: RawGone, ArchiveCorrupt, KeyUnavailable.
    """
    known: tuple[SourceLocation | None, dict[str, str]] = (None, {})
    for event in events:
        plain = complete(event.payload)
        markers = set(SECRET_MARKER.findall(" ".join(_strings(plain))))
        secrets: dict[str, str] = {}
        if markers:
            if known[0] != event.location:
                record = read_record(event.location)
                known = (event.location, secrets_of(record, redactor, marker_key))
            secrets = {m: known[1][name] for m in markers if (name := parts_of_marker(m)[1]) in known[1]}
        yield RevealedEvent(
            session_uid=event.session_uid,
            seq=event.seq,
            event_id=event.event_id,
            part=event.part,
            kind=event.kind,
            role=event.role,
            ts=event.ts,
            location=event.location,
            payload=_replaced(plain, secrets),
            secrets=len(secrets),
            left=tuple(sorted(markers - secrets.keys())),
        )


def secrets_of(record: bytes, redactor: Redactor, marker_key: bytes) -> dict[str, str]:
    """Return the secrets in a record's bytes, by fingerprint."""
    found: dict[str, str] = {}
    for original, redacted in _pairs(record, redactor):
        found.update(_aligned(original, redacted, marker_key))
    return found


def _pairs(record: bytes, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Yield the strings of a record in which something is found, as they are and redacted; and the record's text."""
    text = record.decode("utf-8", "replace")
    waiting = [text]
    while waiting:
        original = waiting.pop()
        redacted, findings = redactor.redact_text(original)
        if findings:
            yield original, redacted
        value = _json(original)
        if value is None:
            continue
        clean, found = redactor.redact_value(value)
        if found:
            yield from ((a, b) for a, b in zip(_strings(value), _strings(clean), strict=True) if a != b)
        # Some agents write a tool's arguments as JSON in JSON.
        waiting += [inner for inner in _strings(value) if inner[:1] in "{[" and inner]


def _aligned(original: str, redacted: str, marker_key: bytes) -> dict[str, str]:
    """Return the original of each marker in a redacted text, by fingerprint: the text around markers is unchanged."""
    original, _ = strip_private(original)
    marks = list(SECRET_MARKER.finditer(redacted))
    if not marks:
        return {}
    edges = [0, *(edge for mark in marks for edge in mark.span()), len(redacted)]
    around = [redacted[a:b] for a, b in pairwise(edges)][::2]
    found: dict[str, str] = {}
    at = len(around[0])
    for mark, following in zip(marks, around[1:], strict=True):
        secret = _secret_at(original, at, mark[0], following, marker_key)
        if secret is None:
            break
        found[parts_of_marker(mark[0])[1]] = secret
        at += len(secret) + len(following)
    return found


def _secret_at(original: str, start: int, marker: str, following: str, marker_key: bytes) -> str | None:
    """Return the text from `start` on that a marker replaces, None if none has its fingerprint."""
    if original.startswith(marker, start):  # the agent wrote the marker itself
        return marker
    kind, _ = parts_of_marker(marker)
    stop, last = start, min(len(original), start + _MAX_SECRET_CHARS)
    while start < (stop := original.find(following, stop + 1)) <= last:
        secret = original[start:stop]
        if finding_of(kind, secret, marker_key).marker == marker:
            return secret
    return None


def _replaced(value: Any, secrets: dict[str, str]) -> Any:
    """Return a payload with the secrets in it."""
    if not secrets:
        return value
    if isinstance(value, str):
        return SECRET_MARKER.sub(lambda match: secrets.get(match[0], match[0]), value)
    if isinstance(value, dict):
        return {_replaced(key, secrets): _replaced(item, secrets) for key, item in value.items()}
    return [_replaced(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def _strings(value: Any) -> Iterator[str]:
    """Yield every string of a decoded value, keys too, in an order that depends on its shape alone."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in item.items():
                waiting += [key, inner]
        elif isinstance(item, list | tuple):
            waiting.extend(item)


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
