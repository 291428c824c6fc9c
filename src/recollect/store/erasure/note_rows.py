# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""What people, agents and rules wrote beside events, by name (`fact:ID`, `tag:NAME` …), and its deletion.

One look at it serves all who ask what is meant: the dry run of a forgetting, the forgetting, and a restore that must
not bring back what was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.late import late_call
from recollect.model.learnings.learnings import LearningEvidence
from recollect.store.connection import RaisesStoreErrors, column, of_db, query, store_errors
from recollect.store.documents import forget_document, place_of
from recollect.store.entries import entries_in, remove_entries, told_text
from recollect.store.jobs import Job, JobQueue, forget_spending
from recollect.store.learnings import BY_CLOSING, Verdict, decode_learning, decode_verdict, encode, evidence_of
from recollect.store.notes import decode_diary, decode_fact


def forget_sessions(db: apsw.Connection, uids: Collection[str]) -> int:
    """Delete what was learned of sessions, in the caller's transaction; return how many learnings went entirely.

    Deletes their evidence with its quotes, their jobs and what was held back of them. A learning that no other session
    and no person supports goes with its entry; one with other support takes its words from there. Raises StoreCorrupt.
    """
    ids: set[str] = set()
    for uid in uids:
        for table in ("learning_sighting", "learning_evidence"):
            ids.update(column(db, f"DELETE FROM {table} WHERE session_uid = ? RETURNING learning", (uid,)))
        db.execute("DELETE FROM job WHERE session_uid = ?", (uid,))
        db.execute("DELETE FROM quarantine WHERE session_uid = ?", (uid,))
    forget_spending(db, uids)
    return sum(_let_go(db, learning_id) for learning_id in sorted(ids))


def forget_evidence(db: apsw.Connection, uid: str, events: Collection[str]) -> set[str]:
    """Delete what rests on some events of a session that stays, in the caller's transaction.

    events: their ids. Learnings without evidence in them stay unchanged. The others lose this session's words and its
    evidence in these events; what other sessions, people and events say stays. Returns the ids of changed and deleted
    learnings. What was held back of the session goes, because its event is unknown. Its cost stays: that quotes
    nothing. Raises StoreCorrupt.
    """
    rows: list[Any] = db.execute(
        "SELECT learning, event_id FROM learning_evidence WHERE session_uid = ?", (uid,)
    ).fetchall()
    meant = [(learning_id, event_id) for learning_id, event_id in rows if event_id in events]
    db.executemany(
        "DELETE FROM learning_evidence WHERE learning = ? AND session_uid = ? AND event_id = ?",
        [(learning_id, uid, event_id) for learning_id, event_id in meant],
    )
    ids = {learning_id for learning_id, _ in meant}
    db.executemany(
        "DELETE FROM learning_sighting WHERE learning = ? AND session_uid = ?", [(found, uid) for found in ids]
    )
    db.execute("DELETE FROM job WHERE session_uid = ?", (uid,))
    db.execute("DELETE FROM quarantine WHERE session_uid = ?", (uid,))
    for learning_id in sorted(ids):
        _let_go(db, learning_id)
    return ids


def remove_learning(db: apsw.Connection, learning_id: str) -> None:
    """Remove a learning with all that was said of it, and its entry."""
    repo: str | None = db.execute("DELETE FROM learning WHERE id = ? RETURNING repo", (learning_id,)).get
    if repo is not None and not _has_learnings(db, repo):
        db.execute("DELETE FROM job WHERE key = ?", (f"relate:{repo}",))
    for table in ("learning_sighting", "learning_evidence", "verdict"):
        db.execute(f"DELETE FROM {table} WHERE learning = ?", (learning_id,))
    remove_entries(db, (f"learning:{learning_id}", f"action:{learning_id}"))


def _let_go(db: apsw.Connection, learning_id: str) -> bool:
    """Delete a learning that nothing supports any more; else reduce it to the remaining words. Return which it was.

    Without another text, only the person's own words remain: what an assistant or tool said beside them may be the
    opposite. What the session still teaches is found when it is read again.
    """
    left: list[Any] = db.execute(
        "SELECT json FROM learning_sighting WHERE learning = ? AND origin <> ? ORDER BY session_uid, origin",
        (learning_id, BY_CLOSING),
    ).fetchall()
    said = next((v.learning for v in _verdicts(db, learning_id) if v.verdict == "said"), None)
    evidence = evidence_of(db, learning_id) or evidence_of(db, learning_id, is_revoked=True)
    text = next((e.quote for e in evidence if e.author == "user" and e.quote), "")
    kept: str | None = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
    learning = decode_learning(kept) if kept is not None else None
    if not left and said is None and not (text and learning is not None and learning.kind != "pattern"):
        remove_learning(db, learning_id)
        is_gone = True
    else:
        is_gone = False
        if learning is not None:  # what it says may be in the words of a session that is gone
            words = decode_learning(left[0][0]) if left else said
            now = msgspec.structs.replace(learning, text=words.text if words is not None else text)
            db.execute("UPDATE learning SET json = ? WHERE id = ?", (encode(now), learning_id))
    if learning is not None and (not is_gone or _has_learnings(db, learning.repo)):
        # How sure it is now, and whether what it stood for holds again, the next run says.
        JobQueue(db).want(Job(f"relate:{learning.repo}", "relate", ""))
    return is_gone


def _has_learnings(db: apsw.Connection, repo: str) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM learning WHERE repo = ?)", (repo,)).get)


def _verdicts(db: apsw.Connection, learning_id: str) -> list[Verdict]:
    rows: Iterable[Any] = db.execute("SELECT json FROM verdict WHERE learning = ? ORDER BY at", (learning_id,))
    return [decode_verdict(text) for (text,) in rows]


IsMeant = Callable[[str], bool]
"""Tells of a text whether it has to go."""
COUNTED = ("learning", "fact", "diary", "tag", "document", "decision")
"""Kinds of names that are told to a person; the others (`held`, `firing`, `closing`) are the memory's own notes."""
_evidence = late_call(lambda: msgspec.json.Decoder(LearningEvidence).decode)


class WrittenPart(NamedTuple):
    """Something that was written, or a part of it: a name may come several times.

    mark: what its mark is made of when it is forgotten, "" for what another part of the same name has. at: UTC
    microseconds of when it was told last, 0 where it is kept out by its mark whenever it was told. session: of a
    document, the one that it is another record of.
    """

    name: str
    texts: tuple[str, ...]
    repo: str = ""
    mark: str = ""
    at: int = 0
    session: str = ""


class Written(msgspec.Struct, frozen=True):
    """What is meant: the mark of each, "" for none, by name."""

    marks: Mapping[str, str]

    @property
    def count(self) -> int:
        """How much of it a person is told about."""
        return sum(name.partition(":")[0] in COUNTED for name in self.marks)


def saying(db: apsw.Connection, is_meant: IsMeant) -> Written:
    """Return what says a text, in any of its words. Raises StoreCorrupt."""
    return _chosen(db, lambda told: any(map(is_meant, told.texts)))


def of_repos(db: apsw.Connection, repos: Collection[str]) -> Written:
    """Return what is of repositories, by name. Raises StoreCorrupt."""
    wanted = frozenset(repos) - {""}
    return _chosen(db, lambda told: told.repo in wanted) if wanted else Written({})


def recording(db: apsw.Connection, sessions: Collection[str]) -> Written:
    """Return the documents that are other records of sessions, by uid. Raises StoreCorrupt."""
    wanted = frozenset(sessions) - {""}
    return _chosen(db, lambda told: told.session in wanted) if wanted and has_records(db, wanted) else Written({})


def has_records(db: apsw.Connection, sessions: Collection[str]) -> bool:
    """Return whether a document is another record of one of some sessions."""
    return any(uid in sessions for uid in column(db, "SELECT DISTINCT session_uid FROM entry WHERE kind = 'document'"))


def kept_out(db: apsw.Connection, mark_of: Callable[[str], bytes]) -> Written:
    """Return what exists although it was forgotten and not stated again since. Raises StoreCorrupt."""
    with store_errors():
        rows: list[Any] = db.execute("SELECT id, at FROM document_kept_out").fetchall()
    stones: dict[bytes, int] = dict(rows)
    if not stones:
        return Written({})
    return _chosen(db, lambda told: bool(told.mark) and told.at <= stones.get(mark_of(told.mark), -1))


def mark_of_fact(fact_id: str, source: str, reference: str) -> str:
    """Return what the mark of a fact is made of: of an imported one its name where it came from."""
    return reference if source == "import" and reference else f"fact:{fact_id}"


def _chosen(db: apsw.Connection, is_chosen: Callable[[WrittenPart], bool]) -> Written:
    names: set[str] = set()
    marks: dict[str, str] = {}
    with store_errors():
        for told in _all(db):
            if told.mark:
                marks[told.name] = told.mark
            if is_chosen(told):
                names.add(told.name)
    return Written({name: marks.get(name, "") for name in sorted(names)})


def _all(db: apsw.Connection) -> Iterator[WrittenPart]:
    yield from _learnings(db)
    for text, recorded_at in query(db, "SELECT json, recorded_at FROM fact"):
        fact = decode_fact(text)
        mark = mark_of_fact(fact.id, fact.source, fact.reference)
        said = (fact.subject, fact.predicate, fact.object, fact.reference)
        yield WrittenPart(f"fact:{fact.id}", said, fact.repo, mark, recorded_at)
    for (text,) in query(db, "SELECT json FROM diary"):
        entry = decode_diary(text)
        texts = (entry.text, entry.topic, *entry.decided, *entry.discovered, *entry.left_pending)
        yield WrittenPart(f"diary:{entry.id}", texts, entry.repo, f"diary:{entry.id}", entry.written_at)
    for name, tagged_at in query(db, "SELECT name, max(tagged_at) FROM tag GROUP BY name"):
        yield WrittenPart(f"tag:{name}", (name,), "", f"tag:{name}", tagged_at)
    for node_id, text, repo, added_at in query(db, "SELECT id, json, repo, added_at FROM added_decision"):
        yield WrittenPart(f"decision:{node_id}", (text,), repo, f"decision:{node_id}", added_at)
    for at, nonce, repo, *texts in query(db, "SELECT at, nonce, repo, identifiers, note FROM firing"):
        yield WrittenPart(f"firing:{at}:{nonce}", tuple(texts), repo, f"firing:{at}:{nonce}", at)
    for one in entries_in(db):
        kind, _, rest = one.entry.uid.partition(":")
        name = f"learning:{rest}" if kind == "action" else one.entry.uid
        texts = (one.entry.title, one.entry.path, *(told_text(one.entry, part) for part in one.parts))
        place = place_of(db, name)
        mark = "" if place is None else f"{place[1]}/{place[2]}" if place[1] else name
        session = one.entry.session_uid if kind == "document" else ""
        yield WrittenPart(name, texts, one.entry.repo, mark, session=session)


def _learnings(db: apsw.Connection) -> Iterator[WrittenPart]:
    for name, text, repo, updated_at in query(db, "SELECT id, json, repo, updated_at FROM learning"):
        yield WrittenPart(f"learning:{name}", (decode_learning(text).text,), repo, f"learning:{name}", updated_at)
    for name, uid, origin, text in query(db, "SELECT learning, session_uid, origin, json FROM learning_sighting"):
        learning = decode_learning(text)
        quotes = tuple(evidence.quote for evidence in learning.evidence)
        if origin == BY_CLOSING:  # that says no more than that an action is done
            yield WrittenPart(f"closing:{name}:{uid}", quotes)
        else:
            yield WrittenPart(f"learning:{name}", (learning.text, *quotes))
    for name, text in query(db, "SELECT learning, json FROM learning_evidence"):
        yield WrittenPart(f"learning:{name}", (_evidence(text).quote,))
    for name, text in query(db, "SELECT learning, json FROM verdict"):
        verdict = decode_verdict(text)
        said = () if verdict.learning is None else (verdict.learning.text,)
        yield WrittenPart(f"learning:{name}", (verdict.reason, *said))
    for key, text, at in query(db, "SELECT key, text, at FROM quarantine"):
        yield WrittenPart(f"held:{key}", (text,), "", f"held:{key}", at)


class Keeping(NamedTuple):
    """How deleted content is kept out in future. mark_of: `store.documents.path_mark` with the home's key. at: UTC
    microseconds.
    """

    mark_of: Callable[[str], bytes]
    at: int


class WrittenRemoval(RaisesStoreErrors):
    """Deletes a selection inside the writer's transactions."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def remove_repos(self, repos: Collection[str], keeping: Keeping) -> int:
        """Remove learnings, notes, documents and decisions of repositories, by name; return how many."""
        return take_away(self._db, of_repos(self._db, repos), keeping)

    def remove_texts(self, is_meant: IsMeant, keeping: Keeping) -> int:
        """Remove learnings, notes, documents, decisions and firings with a text; return how many a person is told
        about.
        """
        return take_away(self._db, saying(self._db, is_meant), keeping)

    has_records = of_db(has_records)

    def remove_records(self, sessions: Collection[str], keeping: Keeping) -> int:
        """Remove the documents that are other records of sessions, by uid; return how many."""
        return take_away(self._db, recording(self._db, sessions), keeping)

    def remove_kept_out(self, keeping: Keeping) -> int:
        """Remove what exists although it was forgotten, see `naming.kept_out`; return how much."""
        return take_away(self._db, kept_out(self._db, keeping.mark_of), keeping)


def take_away(db: apsw.Connection, written: Written, keeping: Keeping) -> int:
    """Take it all away; return how much was told to a person. Neither an import, a pass over documents nor a restore
    brings it back: their files may still say it. Raises StoreCorrupt."""
    for name, mark in written.marks.items():
        if mark:
            db.execute("INSERT OR REPLACE INTO document_kept_out VALUES (?, ?)", (keeping.mark_of(mark), keeping.at))
        kind, _, rest = name.partition(":")
        if kind in _TAKES:
            _TAKES[kind](db, rest)
        else:
            statement = _TAKEN_ALONE[kind]
            db.execute(statement, rest.split(":", statement.count("?") - 1))
    return written.count


def remove_fact(db: apsw.Connection, fact_id: str) -> None:
    """Remove a fact with its entry."""
    db.execute("DELETE FROM fact WHERE id = ?", (fact_id,))
    remove_entries(db, (f"fact:{fact_id}",))


def remove_diary(db: apsw.Connection, entry_id: str) -> None:
    """Remove an entry of a diary with what a search finds of it."""
    db.execute("DELETE FROM diary WHERE id = ?", (entry_id,))
    remove_entries(db, (f"diary:{entry_id}",))


def _remove_document(db: apsw.Connection, place: str) -> None:
    uid = f"document:{place}"
    if not forget_document(db, uid, mark=b"", at=0):
        remove_entries(db, (uid,))


def _remove_decision(db: apsw.Connection, node_id: str) -> None:
    db.execute("DELETE FROM added_decision WHERE id = ?", (node_id,))
    db.execute("DELETE FROM link WHERE newer = ?1 OR older = ?1", (node_id,))


_TAKES: dict[str, Callable[[apsw.Connection, str], None]] = {
    "learning": remove_learning, "fact": remove_fact, "diary": remove_diary, "document": _remove_document,
    "decision": _remove_decision,
}  # fmt: skip
_TAKEN_ALONE = {
    "tag": "DELETE FROM tag WHERE name = ?",
    "firing": "DELETE FROM firing WHERE at = CAST(? AS INTEGER) AND nonce = CAST(? AS INTEGER)",
    "held": "DELETE FROM quarantine WHERE key = ?",
    "closing": f"DELETE FROM learning_sighting WHERE learning = ? AND session_uid = ? AND origin = '{BY_CLOSING}'",
}
"""What is one row, which the parts of its name tell."""
