"""Ids and file names as stored, lossless both ways: an event id is 16 bytes for a UUID, 17 for one of ours."""

from __future__ import annotations

_TEXT = b"\x00"
_HASH = b"\x01"
_TEXT_OF_15 = b"\x02\x00"
"""A text of 15 bytes with one tag byte would look like a UUID, so it gets two."""


def pack_event_id(event_id: str) -> bytes:
    """Return the stored form of an event id."""
    size = len(event_id)
    if size == 36 and event_id[8] == event_id[13] == event_id[18] == event_id[23] == "-":
        packed = _from_hex(event_id.replace("-", ""))
        if packed is not None:
            return packed
    elif size == 34 and event_id.startswith("r-"):
        packed = _from_hex(event_id[2:])
        if packed is not None:
            return _HASH + packed
    text = event_id.encode("utf-8", "surrogatepass")
    return (_TEXT_OF_15 if len(text) == 15 else _TEXT) + text


def unpack_event_id(stored: bytes) -> str:
    """Return the event id of its stored form."""
    if len(stored) == 16:
        h = stored.hex()
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
    if stored[:1] == _HASH:
        return "r-" + stored[1:].hex()
    text = stored[2:] if stored[:1] == _TEXT_OF_15[:1] else stored[1:]
    return text.decode("utf-8", "surrogatepass")


def pack_text(text: str) -> str | bytes:
    """Return a text as stored: a file name that is not UTF-8 has lone surrogates, which SQLite takes as a blob only."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unpack_text(stored: str | bytes) -> str:
    """Return the text of its stored form."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def _from_hex(text: str) -> bytes | None:
    """Return 16 bytes of 32 lower-case hex digits, None for anything else."""
    if len(text) != 32:
        return None
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        return None
    return packed if packed.hex() == text else None
