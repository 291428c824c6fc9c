# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Taking away what was learned, noted and documented: of a session that is forgotten, with a text, of a repository.

What was learned of a session goes with it, and so do facts that were made of what it came to. A diary entry that tells
of that session alone goes, one that tells of others too loses its name; a fact that cites it goes unless a person said
it. Everything here runs inside the writer's transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.model.learned.learnings import Learning
from recollect.model.learned.notes import DiaryEntry, Fact
from recollect.store.entries import told_text
from recollect.store.sqlite.documents.removing import forget_document, place_of
from recollect.store.sqlite.entries.reading import entries_in
from recollect.store.sqlite.entries.writing import remove_entries, retell_entry
from recollect.store.sqlite.learned import forgetting as learned
from recollect.store.sqlite.notes.diary import put_diary
from recollect.store.sqlite.notes.facts import put_fact

IsMeant = Callable[[str], bool]
"""Tells of a text whether it has to go."""
_fact = msgspec.json.Decoder(Fact).decode
_diary = msgspec.json.Decoder(DiaryEntry).decode
_learning = msgspec.json.Decoder(Learning).decode


class Keeping(NamedTuple):
    """How documents that go are kept out from now on. mark_of: of a file's absolute path. at: UTC microseconds."""

    mark_of: Callable[[str], bytes]
    at: int


def forget_learned(db: apsw.Connection, uid: str, nodes: Collection[str]) -> None:
    """Take away what was learned of a session, and the facts that were made of that or of its nodes (their ids)."""
    ids = {
        found
        for table in ("learning_sighting", "learning_evidence")
        for (found,) in db.execute(f"SELECT DISTINCT learning FROM {table} WHERE session_uid = ?", (uid,))
    }
    learned.forget_sessions(db, (uid,))
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
            _remove_diary(db, entry.id)
    _forget_citing(db, lambda reference: reference == uid or reference.rpartition("#")[0] == uid)
    db.execute("DELETE FROM tag WHERE session_uid = ?", (uid,))
    left: Iterable[Any] = db.execute("SELECT uid FROM entry WHERE session_uid = ?", (uid,)).fetchall()
    remove_entries(db, [entry for (entry,) in left])


def forget_cited(db: apsw.Connection, uid: str, seqs: Collection[int]) -> None:
    """Take away facts that cite events of a session that go."""
    cited = {f"{uid}#{seq}" for seq in seqs}
    _forget_citing(db, cited.__contains__)


def forget_texts(db: apsw.Connection, is_meant: IsMeant, keeping: Keeping) -> int:
    """Take away all that says a text; return how many learnings, notes, tags and documents that were.

    A document is kept out from then on: its file may still say it. Raises StoreCorrupt.
    """
    count = learned.forget_texts(db, is_meant)
    facts: list[Any] = db.execute("SELECT json FROM fact").fetchall()
    for fact in (_fact(text) for (text,) in facts):
        if any(map(is_meant, (fact.subject, fact.predicate, fact.object, fact.reference))):
            _remove_fact(db, fact.id)
            count += 1
    entries: list[Any] = db.execute("SELECT json FROM diary").fetchall()
    for entry in (_diary(text) for (text,) in entries):
        if any(map(is_meant, (entry.text, entry.topic, *entry.decided, *entry.discovered, *entry.left_pending))):
            _remove_diary(db, entry.id)
            count += 1
    tags: list[Any] = db.execute("SELECT DISTINCT name FROM tag").fetchall()
    for (name,) in tags:
        if is_meant(name):
            db.execute("DELETE FROM tag WHERE name = ?", (name,))
            count += 1
    count += _forget_entries(db, entries_saying(db, is_meant), keeping)
    return count


def forget_repos(db: apsw.Connection, repos: Collection[str], keeping: Keeping) -> int:
    """Take away what was noted and documented of repositories; return how much that was."""
    uids: list[str] = []
    for repo in sorted(set(repos) - {""}):
        uids += [uid for (uid,) in db.execute("SELECT uid FROM entry WHERE repo = ?", (repo,))]
        for table in ("learning", "fact", "diary"):
            ids: list[Any] = db.execute(f"SELECT id FROM {table} WHERE repo = ?", (repo,)).fetchall()
            for (found,) in ids:
                _REMOVES[table](db, found)
    _forget_entries(db, uids, keeping)
    return len(uids)


def entries_saying(db: apsw.Connection, is_meant: IsMeant) -> list[str]:
    """Return the uids of the entries that say a text."""
    return [
        one.entry.uid
        for one in entries_in(db)
        if any(map(is_meant, (one.entry.title, one.entry.path, *(told_text(one.entry, part) for part in one.parts))))
    ]


def _forget_entries(db: apsw.Connection, uids: Iterable[str], keeping: Keeping) -> int:
    count = 0
    for uid in uids:
        place = place_of(db, uid)
        if place is not None:
            _collection, folder, path = place
            forget_document(db, uid, mark=keeping.mark_of(f"{folder}/{path}") if folder else b"", at=keeping.at)
            count += 1
        else:
            count += remove_entries(db, (uid,))
    return count


def _forget_citing(db: apsw.Connection, is_meant: IsMeant) -> None:
    rows: list[Any] = db.execute("SELECT json FROM fact WHERE json_extract(json, '$.reference') <> ''").fetchall()
    for fact in (_fact(text) for (text,) in rows):
        if not is_meant(fact.reference):
            continue
        if fact.source == "person":
            put_fact(db, msgspec.structs.replace(fact, reference=""))
        else:
            _remove_fact(db, fact.id)


def _remove_facts(db: apsw.Connection, references: Collection[str]) -> None:
    """Remove the facts that rest on one of these: ids of nodes, learnings."""
    if not references:
        return
    rows: list[Any] = db.execute("SELECT id, json_extract(json, '$.reference') FROM fact").fetchall()
    for fact_id, reference in rows:
        if reference in references:
            _remove_fact(db, fact_id)


def _remove_learning(db: apsw.Connection, learning_id: str) -> None:
    db.execute("DELETE FROM learning WHERE id = ?", (learning_id,))
    for table in ("learning_sighting", "learning_evidence", "verdict"):
        db.execute(f"DELETE FROM {table} WHERE learning = ?", (learning_id,))
    remove_entries(db, (f"learning:{learning_id}", f"action:{learning_id}"))


def _remove_fact(db: apsw.Connection, fact_id: str) -> None:
    db.execute("DELETE FROM fact WHERE id = ?", (fact_id,))
    remove_entries(db, (f"fact:{fact_id}",))


def _remove_diary(db: apsw.Connection, entry_id: str) -> None:
    db.execute("DELETE FROM diary WHERE id = ?", (entry_id,))
    remove_entries(db, (f"diary:{entry_id}",))


_REMOVES: dict[str, Callable[[apsw.Connection, str], None]] = {
    "learning": _remove_learning,
    "fact": _remove_fact,
    "diary": _remove_diary,
}
