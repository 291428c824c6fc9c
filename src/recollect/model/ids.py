"""Ids of everything. They depend on content only, never on machine, time or order of arrival."""

from __future__ import annotations

import re

# hashlib loads OpenSSL, urllib a reader of network addresses: who only names a session, as a hook does, goes without.

_SAFE = "._:/-"
_NATIVE_OK = re.compile(r"[A-Za-z0-9._:/-]+")


def session_uid(agent: str, native_id: str) -> str:
    """Return `<slug>:<native id>`, percent-encoded outside `[A-Za-z0-9._:/-]` so that it survives shells and URLs."""
    if _NATIVE_OK.fullmatch(native_id):
        return f"{agent}:{native_id}"
    from urllib.parse import quote

    return f"{agent}:{quote(native_id, safe=_SAFE, errors='surrogatepass')}"


def split_session_uid(uid: str) -> tuple[str, str]:
    """Return (slug, native id). Raises ValueError when there is no slug."""
    slug, sep, native = uid.partition(":")
    if not sep or not slug or not native:
        raise ValueError(f"not a session uid: {uid!r}")
    if "%" not in native:
        return slug, native
    from urllib.parse import unquote

    return slug, unquote(native, errors="surrogatepass")


def record_event_id(native_session: str, record_sha256: bytes, occurrence: int) -> str:
    """Name an event whose record has no native id.

    occurrence: how many records with the same bytes stand before it in the same revision of the source.
    """
    import hashlib

    h = hashlib.blake2b(digest_size=16, person=b"recollect.event")
    h.update(native_session.encode("utf-8", "surrogatepass"))
    h.update(b"\0" + record_sha256 + occurrence.to_bytes(4, "big"))
    return "r-" + h.hexdigest()


OWN_CALL_ID = "hook:"
"""How the id of a tool call begins that a witness had to make up; such a call is told by its tool and arguments."""


def call_key(call_id: str) -> bytes:
    """Return the 8-byte hash by which a tool's call and its result are joined, b"" without an id."""
    if not call_id:
        return b""
    import hashlib

    return hashlib.blake2b(call_id.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def source_id(agent: str, key: str, ordinal: int) -> str:
    """Name a source: the agent, its key (what stays when the file moves) and its place among equal keys."""
    import hashlib

    text = f"{agent}\0{key}\0{ordinal}".encode("utf-8", "surrogatepass")
    return "s-" + hashlib.blake2b(text, digest_size=10, person=b"recollect.source").hexdigest()


def file_name(uid: str, extension: str) -> str:
    """Return the export file name `<slug>_<id>.<extension>` of a session uid."""
    slug, native = split_session_uid(uid)
    return f"{slug}_{re.sub(r'[^A-Za-z0-9._-]+', '_', native)}.{extension}"
