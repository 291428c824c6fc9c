# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Taking away what was learned and noted of a session that is forgotten, wholly or in part.

What was learned of a session goes with it, and so do facts that were made of what it came to. A diary entry that tells
of that session alone goes, one that tells of others too loses its name; a fact that cites it goes unless a person said
it. Everything here runs inside the writer's transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import apsw
import msgspec

from recollect.model.learnings.learnings import Learning
from recollect.model.learnings.notes import DiaryEntry, Fact
from recollect.store.sqlite.entries.writer import remove_entries, retell_entry
from recollect.store.sqlite.erasure.written.removal import remove_diary, remove_fact
from recollect.store.sqlite.learnings import erasure as learned
from recollect.store.sqlite.notes.diary import put_diary
from recollect.store.sqlite.notes.facts import put_fact

_fact = msgspec.json.Decoder(Fact).decode
_diary = msgspec.json.Decoder(DiaryEntry).decode
_learning = msgspec.json.Decoder(Learning).decode


def forget_learned(
    db: apsw.Connection, uid: str, nodes: Collection[str], *, events: Collection[str] | None = None
) -> None:
    """Take away what was learned of a session, and the facts that were made of that or of its nodes (their ids).

    events: only what rests on these of it, by id; None: all.
    """
    if events is None:
        ids = {
            found
            for table in ("learning_sighting", "learning_evidence")
            for (found,) in db.execute(f"SELECT DISTINCT learning FROM {table} WHERE session_uid = ?", (uid,))
        }
        learned.forget_sessions(db, (uid,))
    else:
        ids = learned.forget_evidence(db, uid, events)
    for learning_id in ids:  # one that others speak of too is told in their words from now on
        text: Any = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
        if text is not None:
            left: Any = db.execute(
                "SELECT session_uid FROM learning_evidence WHERE learning = ? LIMIT 1", (learning_id,)
            ).get
            for kind in ("learning", "action"):
                retell_entry(db, f"{kind}:{learning_id}", _learning(text).text, session_uid=left or "")
    _remove_facts(db, {*nodes, *(f"learning:{learning_id}" for learning_id in ids)})


def forget_named(db: apsw.Connection, uid: str) -> None:
    """Take away what was noted of a session that goes as a whole, and its tags."""
    rows: list[Any] = db.execute(
        "SELECT json FROM diary WHERE EXISTS "
        "(SELECT 1 FROM json_each(diary.json, '$.sessions') AS said WHERE said.value = ?)",
        (uid,),
    ).fetchall()
    for entry in (_diary(text) for (text,) in rows):
        others = tuple(other for other in entry.sessions if other != uid)
        if others:
            put_diary(db, msgspec.structs.replace(entry, sessions=others))
        else:
            remove_diary(db, entry.id)
    _forget_citing(db, lambda reference: reference == uid or reference.rpartition("#")[0] == uid)
    db.execute("DELETE FROM tag WHERE session_uid = ?", (uid,))
    left: Iterable[Any] = db.execute("SELECT uid FROM entry WHERE session_uid = ?", (uid,)).fetchall()
    remove_entries(db, [entry for (entry,) in left])


def forget_cited(db: apsw.Connection, uid: str, seqs: Collection[int]) -> None:
    """Take away facts that cite events of a session that go."""
    cited = {f"{uid}#{seq}" for seq in seqs}
    _forget_citing(db, cited.__contains__)


def _forget_citing(db: apsw.Connection, is_meant: Callable[[str], bool]) -> None:
    rows: list[Any] = db.execute("SELECT json FROM fact WHERE json_extract(json, '$.reference') <> ''").fetchall()
    for fact in (_fact(text) for (text,) in rows):
        if not is_meant(fact.reference):
            continue
        if fact.source == "person":
            put_fact(db, msgspec.structs.replace(fact, reference=""))
        else:
            remove_fact(db, fact.id)


def _remove_facts(db: apsw.Connection, references: Collection[str]) -> None:
    """Remove the facts that rest on one of these: ids of nodes, learnings."""
    if not references:
        return
    rows: list[Any] = db.execute("SELECT id, json_extract(json, '$.reference') FROM fact").fetchall()
    for fact_id, reference in rows:
        if reference in references:
            remove_fact(db, fact_id)
