"""Learnings and diary entries as the store has them, for tests of what a context says of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from recollect.model.learnings.learnings import Author, Learning, LearningEvidence
from recollect.model.learnings.notes import DiaryEntry
from recollect.store.connection import open_database
from recollect.store.learnings import Sighting, open_learning_store

DAY_US = 24 * 3600 * 1_000_000
AUGUST_US = 1_785_542_400_000_000
"""2026-08-01 UTC."""


def learned(
    text: str, *, kind: str = "fact", repo: str = "shop", day: float = 1, author: Author = "user",
    session: str = "claude:one", **values: Any,
) -> Learning:  # fmt: skip
    """Return a learning of a session, said on a day of August 2026."""
    at = AUGUST_US + int((day - 1) * DAY_US)
    evidence = (LearningEvidence(session, f"event {text}", 0, author, 3, at, text[:100]),) if session else ()
    known = {"id": _id(text), "kind": kind, "text": text, "scope": "repo" if repo else "user", "repo": repo,
             "confidence": 0.8, "recorded_at": at, "updated_at": at, "evidence": evidence, **values}  # fmt: skip
    return Learning(**known)


def keep(home: Path, *learnings: Learning) -> None:
    """Store learnings with what their sessions say."""
    with open_learning_store(home) as store, store.transaction():
        said = [Sighting(x.evidence[0].session_uid, "rules", x) for x in learnings if x.evidence]
        store.put_sightings(said, [])
        store.save(learnings, (), ())


def change(home: Path, learning: Learning, **values: Any) -> None:
    """Store a learning as it came to be."""
    keep(home, msgspec.structs.replace(learning, **values))


def write_diary(
    home: Path, text: str, *, agent: str = "claude", repo: str = "shop", day: float = 1, sessions: Sequence[str] = ()
) -> str:
    """Store an entry of a diary, as the memory does it: the blocks that were ready hold no more."""
    from recollect.ready_blocks import withdraw

    at = AUGUST_US + int((day - 1) * DAY_US)
    entry = DiaryEntry(id=_id(text)[1:], agent=agent, text=text, written_at=at, repo=repo, sessions=tuple(sessions))
    withdraw(str(home))
    db = open_database(home, "write")
    with db:
        db.execute(
            "INSERT INTO diary (id, agent, repo, written_at, batch, retired_at, json) VALUES (?, ?, ?, ?, '', NULL, ?)",
            (entry.id, agent, repo, at, msgspec.json.encode(entry).decode()),
        )
    db.close()
    withdraw(str(home))
    return entry.id


def _id(text: str) -> str:
    import hashlib

    return "l" + hashlib.sha256(text.encode()).hexdigest()[:20]
