"""Entries as their writers write them: straight to the database, without the ingest lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.memory import Memory, SearchAnswer
from recollect.model.learnings.entries import EntryDraft
from recollect.store.connection import open_database
from recollect.store.entries import put_entries, remove_entries


def draft(uid: str, *texts: str, **facts: Any) -> EntryDraft:
    return EntryDraft(
        uid=uid, kind=uid.partition(":")[0], title=facts.pop("title", texts[0][:40]), texts=texts, **facts
    )  # type: ignore[arg-type]


def put(home: Path, *drafts: EntryDraft) -> int:
    db = open_database(home, "write")
    try:
        with db:
            return put_entries(db, drafts)
    finally:
        db.close()


def remove(home: Path, *uids: str) -> int:
    db = open_database(home, "write")
    try:
        with db:
            return remove_entries(db, uids)
    finally:
        db.close()


def found(memory: Memory, query: str) -> list[str]:
    """What a search with a refresh cites, hits first, then what stands beside them."""
    answer = memory.search(query)
    return cited(answer)


def cited(answer: SearchAnswer) -> list[str]:
    return [f"{hit.session_uid}#{hit.seq}" for hit in (*answer.hits, *answer.learned)]


def waiting(home: Path) -> int:
    """How many changes the index has not taken."""
    db = open_database(home, "read")
    try:
        return int(db.execute("SELECT count(*) FROM entry_change").get)
    finally:
        db.close()
