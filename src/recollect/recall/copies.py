"""What makes two events one hit: one is a copy of the other."""

from __future__ import annotations

from hashlib import blake2b

from recollect.store.ports import HitText, SessionKey

COPIED_CHARS = 200
"""A message of this length that stands in two sessions was copied, not said again."""
_SAID = frozenset(("user_message", "assistant_message", "thinking"))


def sameness(text: HitText, session: SessionKey) -> set[object]:
    """Return what two events share that are one hit: the id that a replay in a fork keeps, or the text.

    The same few words said in unrelated sessions are hits of their own. The same file read in them is not, nor is a
    long message: nobody says that twice, it is a copy (a fork of Claude Code names no origin).
    """
    body = f"{text.kind}\0{text.text or text.event_id}"
    said = blake2b(body.encode("utf-8", "replace"), digest_size=12).digest()
    is_own = text.kind in _SAID and len(text.text) < COPIED_CHARS
    where = session.origin_uid or session.session_uid if is_own else ""
    return {(text.event_id, text.part), (where, said)}
