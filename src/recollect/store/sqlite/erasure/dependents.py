# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What was learned and noted that goes with events, told before they go: what `forget_meaning` would take away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.keys import SEQ_BITS
from recollect.store.learnings import BY_CLOSING
from recollect.store.sqlite.erasure.written.names import recording
from recollect.store.sqlite.event_ids import unpack_event_id
from recollect.store.sqlite.learnings.codec import decode_learning, decode_verdict, evidence_of
from recollect.store.sqlite.readers.filters import int_array

_fact = msgspec.json.Decoder(Fact).decode
_diary = msgspec.json.Decoder(DiaryEntry).decode
_SEQ_MASK = (1 << SEQ_BITS) - 1


class Leaving(NamedTuple):
    """What is to go. whole: uids of sessions. partial: the keys of single events, by the uid of their session."""

    whole: Collection[str]
    partial: Mapping[str, Collection[int]]


def resting_on(db: apsw.Connection, leaving: Leaving) -> list[str]:
    """Return the names (`learning:ID`, `fact:ID`, `diary:ID`, `document:PLACE`) of what goes with events.

    Raises StoreCorrupt.
    """
    touched = _touched(db, leaving)
    gone = [learning_id for learning_id in sorted(touched) if not _stays(db, learning_id, touched[learning_id])]
    names = [f"learning:{learning_id}" for learning_id in gone]
    cited = {f"{uid}#{key & _SEQ_MASK}" for uid, keys in leaving.partial.items() for key in keys}
    cited |= {f"learning:{learning_id}" for learning_id in touched}
    for (text,) in _rows(db, "SELECT json FROM fact WHERE json_extract(json, '$.reference') <> ''"):
        fact = _fact(text)
        uid = fact.reference.partition("#")[0]
        if fact.source != "person" and (fact.reference in cited or uid in leaving.whole):
            names.append(f"fact:{fact.id}")
    for (text,) in _rows(db, "SELECT json FROM diary"):
        entry = _diary(text)
        if entry.sessions and all(uid in leaving.whole for uid in entry.sessions):
            names.append(f"diary:{entry.id}")
    return [*names, *recording(db, leaving.whole).marks]


def _touched(db: apsw.Connection, leaving: Leaving) -> dict[str, dict[str, frozenset[str] | None]]:
    """Return the learnings that lose something, each with the sessions that it loses: their events, None for all."""
    found: dict[str, dict[str, frozenset[str] | None]] = {}
    for uid in leaving.whole:
        for table in ("learning_sighting", "learning_evidence"):
            for (learning_id,) in _rows(db, f"SELECT DISTINCT learning FROM {table} WHERE session_uid = ?", (uid,)):
                found.setdefault(learning_id, {})[uid] = None
    for uid, keys in leaving.partial.items():
        ids = _rows(db, "SELECT event_id FROM event WHERE key IN (SELECT value FROM carray(?))", (int_array(keys),))
        events = frozenset(unpack_event_id(event_id) for (event_id,) in ids)
        for learning_id, event_id in _rows(
            db, "SELECT learning, event_id FROM learning_evidence WHERE session_uid = ?", (uid,)
        ):
            if event_id in events:
                found.setdefault(learning_id, {})[uid] = events
    return found


def _stays(db: apsw.Connection, learning_id: str, lost: Mapping[str, frozenset[str] | None]) -> bool:
    """Tell whether somebody else speaks of a learning, or other words of the person do, see `learnings.erasure`."""
    seen = _rows(
        db, "SELECT session_uid FROM learning_sighting WHERE learning = ? AND origin <> ?", (learning_id, BY_CLOSING)
    )
    if any(uid not in lost for (uid,) in seen):
        return True
    verdicts = _rows(db, "SELECT json FROM verdict WHERE learning = ?", (learning_id,))
    if any(decode_verdict(text).verdict == "said" for (text,) in verdicts):
        return True
    kept: str | None = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
    if kept is None or decode_learning(kept).kind == "pattern":
        return False
    return any(
        e.author == "user" and e.quote and not _is_lost(lost.get(e.session_uid, frozenset()), e.event_id)
        for e in evidence_of(db, learning_id)
    )


def _is_lost(events: frozenset[str] | None, event_id: str) -> bool:
    return events is None or event_id in events


def _rows(db: apsw.Connection, statement: str, values: tuple[Any, ...] = ()) -> Iterable[Any]:
    return db.execute(statement, values).fetchall()
