"""What makes two events one hit: one is a copy of the other."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from recollect.recall.answers import Hit
from recollect.store.rows import HitText, SessionKey

COPIED_CHARS = 200
"""A message of this length that stands in two sessions was copied, not said again."""
_LEAST_WORDS = 3
"""Of a text that is looked for in another one: fewer stand in many."""
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


def said_once(learned: Iterable[Hit], hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return what was learned without what the hits, or a learning before it, say in the same words: one sentence may
    give a learning, an action and a fact."""
    told = [words for hit in hits if not hit.is_undone for words in (_words(hit.snippet), _words(hit.summary))]
    kept: list[Hit] = []
    for one in learned:
        words = _words(one.snippet)
        is_told = words.count(" ") + 1 >= _LEAST_WORDS and any(words in other for other in told)
        if not is_told:
            kept.append(one)
            told.append(words)
    return tuple(kept)


def _words(text: str) -> str:
    return " ".join(text.casefold().replace("…", " ").split()).rstrip(".!?")
