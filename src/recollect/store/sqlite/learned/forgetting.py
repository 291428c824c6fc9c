"""Takes away what was learned of sessions that are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import apsw
import msgspec

from recollect.model.learned.learnings import Learning, LearningEvidence
from recollect.store.learned import BY_CLOSING, Job, Verdict
from recollect.store.sqlite.entries.writing import remove_entries
from recollect.store.sqlite.learned.jobs import SqliteJobQueue
from recollect.store.sqlite.learned.packing import decode_learning, decode_verdict, encode
from recollect.store.sqlite.learned.spending import forget_spending


def forget_sessions(db: apsw.Connection, uids: Collection[str]) -> int:
    """Take away what was learned of sessions, inside the caller's transaction; return how many learnings went wholly.

    Their evidence with its quotes, their jobs and what of them was held back go. A learning that no other session and
    no person speaks of goes with its entry; one that others speak of has their words from now on. Raises StoreCorrupt.
    """
    ids: set[str] = set()
    for uid in uids:
        for table in ("learning_sighting", "learning_evidence"):
            rows: Iterable[Any] = db.execute(
                f"DELETE FROM {table} WHERE session_uid = ? RETURNING learning",  # noqa: S608 - names of ours
                (uid,),
            )
            ids.update(learning_id for (learning_id,) in rows)
        db.execute("DELETE FROM job WHERE session_uid = ?", (uid,))
        db.execute("DELETE FROM quarantine WHERE session_uid = ?", (uid,))
    forget_spending(db, uids)
    return sum(_let_go(db, learning_id, set(uids)) for learning_id in sorted(ids))


def forget_texts(db: apsw.Connection, is_meant: Callable[[str], bool]) -> int:
    """Take away every learning that says a text, with all evidence; what people said of it too. Return how many.

    is_meant: tells of a text whether it has to go. Raises StoreCorrupt.
    """
    gone: set[str] = set()
    for learning_id, text in _rows(db, "SELECT learning, json FROM learning_sighting"):
        if any(map(is_meant, _texts(decode_learning(text)))):
            gone.add(learning_id)
    for learning_id, text in _rows(db, "SELECT id, json FROM learning"):
        if is_meant(decode_learning(text).text):
            gone.add(learning_id)
    for learning_id, text in _rows(db, "SELECT learning, json FROM learning_evidence"):
        if is_meant(msgspec.json.decode(text, type=LearningEvidence).quote):
            gone.add(learning_id)
    for learning_id, text in _rows(db, "SELECT learning, json FROM verdict"):
        verdict = decode_verdict(text)
        if is_meant(verdict.reason) or (verdict.learning is not None and is_meant(verdict.learning.text)):
            gone.add(learning_id)
    for learning_id in sorted(gone):
        _remove(db, learning_id)
    held: list[Any] = db.execute("SELECT key, text FROM quarantine").fetchall()
    db.executemany("DELETE FROM quarantine WHERE key = ?", [(key,) for key, text in held if is_meant(text)])
    return len(gone)


def _let_go(db: apsw.Connection, learning_id: str, uids: set[str]) -> bool:
    """Take a learning away where nobody speaks of it any more; else have it say what is left. Tell which it was."""
    left: list[Any] = db.execute(
        "SELECT json FROM learning_sighting WHERE learning = ? AND origin <> ? ORDER BY session_uid, origin",
        (learning_id, BY_CLOSING),
    ).fetchall()
    said = next((v.learning for v in _verdicts(db, learning_id) if v.verdict == "said"), None)
    evidence = db.execute("SELECT EXISTS (SELECT 1 FROM learning_evidence WHERE learning = ?)", (learning_id,)).get
    if not left and said is None and not evidence:
        _remove(db, learning_id)
        return True
    kept: str | None = db.execute("SELECT json FROM learning WHERE id = ?", (learning_id,)).get
    if kept is not None:  # what it says may be in the words of a session that is gone
        learning = decode_learning(kept)
        words = decode_learning(left[0][0]) if left else said
        if words is not None:
            now = msgspec.structs.replace(learning, text=words.text)
            db.execute("UPDATE learning SET json = ? WHERE id = ?", (encode(now), learning_id))
        SqliteJobQueue(db).want(Job(f"relate:{learning.repo}", "relate", ""))  # how sure it is now, the next run says
    return False


def _verdicts(db: apsw.Connection, learning_id: str) -> list[Verdict]:
    rows: Iterable[Any] = db.execute("SELECT json FROM verdict WHERE learning = ? ORDER BY at", (learning_id,))
    return [decode_verdict(text) for (text,) in rows]


def _remove(db: apsw.Connection, learning_id: str) -> None:
    repo: str | None = db.execute("DELETE FROM learning WHERE id = ? RETURNING repo", (learning_id,)).get
    if repo is not None and not db.execute("SELECT EXISTS (SELECT 1 FROM learning WHERE repo = ?)", (repo,)).get:
        db.execute("DELETE FROM job WHERE key = ?", (f"relate:{repo}",))
    for table in ("learning_sighting", "learning_evidence", "verdict"):
        db.execute(f"DELETE FROM {table} WHERE learning = ?", (learning_id,))  # noqa: S608 - names of ours
    remove_entries(db, (f"learning:{learning_id}", f"action:{learning_id}"))


def _texts(learning: Learning) -> list[str]:
    return [learning.text, *(evidence.quote for evidence in learning.evidence)]


def _rows(db: apsw.Connection, statement: str) -> list[tuple[str, str]]:
    rows: Any = db.execute(statement).fetchall()
    return [(learning_id, text) for learning_id, text in rows]
