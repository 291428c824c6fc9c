"""Takes away what was learned of sessions that are forgotten."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import apsw
import msgspec

from recollect.store.learnings import BY_CLOSING, Job, Verdict
from recollect.store.sqlite.entries.writer import remove_entries
from recollect.store.sqlite.learnings.codec import decode_learning, decode_verdict, encode, evidence_of
from recollect.store.sqlite.learnings.jobs import SqliteJobQueue
from recollect.store.sqlite.learnings.ledger import forget_spending


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
    return sum(_let_go(db, learning_id) for learning_id in sorted(ids))


def forget_evidence(db: apsw.Connection, uid: str, events: Collection[str]) -> set[str]:
    """Take away what rests on some events of a session that stays, inside the caller's transaction.

    events: their ids. Learnings with evidence in none of them are left as they are. Of the others this session's words
    and its evidence in these events go; what other sessions, people and other events say of them stays. Returns the
    ids of the learnings that were touched or went. What was held back of the session goes: no event is known of it.
    What was spent on it stays: that is no word of it. Raises StoreCorrupt.
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
        db.execute(f"DELETE FROM {table} WHERE learning = ?", (learning_id,))  # noqa: S608 - names of ours
    remove_entries(db, (f"learning:{learning_id}", f"action:{learning_id}"))


def _let_go(db: apsw.Connection, learning_id: str) -> bool:
    """Take a learning away where nobody speaks of it any more; else have it say what is left. Tell which it was.

    Of evidence alone only the person's own words are left to say: what an assistant or a tool said beside them may be
    the opposite. What else the session still teaches is found when it is read again.
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
        SqliteJobQueue(db).want(Job(f"relate:{learning.repo}", "relate", ""))
    return is_gone


def _has_learnings(db: apsw.Connection, repo: str) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM learning WHERE repo = ?)", (repo,)).get)


def _verdicts(db: apsw.Connection, learning_id: str) -> list[Verdict]:
    rows: Iterable[Any] = db.execute("SELECT json FROM verdict WHERE learning = ? ORDER BY at", (learning_id,))
    return [decode_verdict(text) for (text,) in rows]
