"""Entries are written with the row that they tell of, in the caller's transaction, and noted for the index."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.model.learnings.entries import ENTRY_PART_CHARS, EntryDraft
from recollect.store.keys import SEQ_BITS
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.entries.codec import pack_part

_MAX_PARTS = 1 << SEQ_BITS
_TITLE_CHARS = 120
_SAVE = (
    "INSERT INTO entry (uid, kind, title, agent, repo, path, session_uid, ts, status, state, parts, sha256) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (uid) DO UPDATE SET kind = excluded.kind, "
    "title = excluded.title, agent = excluded.agent, repo = excluded.repo, path = excluded.path, "
    "session_uid = excluded.session_uid, ts = excluded.ts, status = excluded.status, state = excluded.state, "
    "parts = excluded.parts, sha256 = excluded.sha256 RETURNING number"
)
_encode = msgspec.json.Encoder().encode


def put_entries(db: apsw.Connection, drafts: Iterable[EntryDraft]) -> int:
    """Write entries inside the caller's transaction, and note for the index those that are not as before.

    An entry that is there keeps its number. Texts are redacted already.

    Returns:
        How many are new or changed; one that is the same in everything writes nothing.
    Raises:
        BrokenInvariant: a draft is not as `EntryDraft` says, or there is no transaction.
    """
    _must_be_in_transaction(db)
    changed = 0
    for draft in drafts:
        _must_be_sound(draft)
        name = sha256(_encode(draft)).digest()
        if db.execute("SELECT sha256 FROM entry WHERE uid = ?", (draft.uid,)).get == name:
            continue
        number: int = db.execute(
            _SAVE,
            (
                draft.uid, draft.kind, draft.title, draft.agent, draft.repo, draft.path, draft.session_uid, draft.ts,
                draft.status, draft.state, len(draft.texts), name,
            ),
        ).get  # fmt: skip
        db.execute("DELETE FROM entry_part WHERE entry = ?", (number,))
        headings = draft.headings or ("",) * len(draft.texts)
        db.executemany(
            "INSERT INTO entry_part VALUES (?, ?, ?, ?)",
            [
                (number, part, heading, pack_part(text))
                for part, (heading, text) in enumerate(zip(headings, draft.texts, strict=True))
            ],
        )
        _note(db, [number])
        changed += 1
    return changed


def remove_entries(db: apsw.Connection, uids: Iterable[str]) -> int:
    """Remove entries inside the caller's transaction, and note it for the index. Unknown uids are no error.

    Returns:
        How many there were.
    """
    _must_be_in_transaction(db)
    gone: list[int] = []
    for uid in uids:
        number: Any = db.execute("DELETE FROM entry WHERE uid = ? RETURNING number", (uid,)).get
        if number is not None:
            db.execute("DELETE FROM entry_part WHERE entry = ?", (number,))
            gone.append(number)
    _note(db, gone)
    return len(gone)


def rename_entries(db: apsw.Connection, before: str, after: str) -> None:
    """Have entries whose uid begins with `before` begin with `after`, inside the caller's transaction."""
    _must_be_in_transaction(db)
    rows: Any = db.execute(
        "UPDATE entry SET uid = ? || substr(uid, ?), sha256 = x'' WHERE substr(uid, 1, ?) = ? RETURNING number",
        (after, len(before) + 1, len(before), before),
    ).fetchall()
    _note(db, [number for (number,) in rows])


def retell_entry(db: apsw.Connection, uid: str, text: str, *, session_uid: str) -> None:
    """Have an entry of one part say something else, inside the caller's transaction. Unknown uids are no error."""
    found: Any = db.execute(
        "SELECT kind, agent, repo, path, ts, status, state FROM entry WHERE uid = ?", (uid,)
    ).fetchone()
    if found is not None:
        kind, agent, repo, path, ts, status, state = found
        draft = EntryDraft(
            uid=uid, kind=kind, title=text[:_TITLE_CHARS], texts=(text,), agent=agent, repo=repo, path=path,
            session_uid=session_uid, ts=ts, status=status, state=state,
        )  # fmt: skip
        put_entries(db, [draft])


class SqliteEntryLog:
    """The log of what changed of entries, on the ingester's connection."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def acknowledge(self, change_id: int) -> None:
        """Drop the changes up to this one: the index has them. Inside a transaction."""
        with store_errors():
            self._db.execute("DELETE FROM entry_change WHERE id <= ?", (change_id,))


def _note(db: apsw.Connection, numbers: Iterable[int]) -> None:
    db.executemany("INSERT INTO entry_change (entry) VALUES (?)", [(number,) for number in numbers])


def _must_be_in_transaction(db: apsw.Connection) -> None:
    if not db.in_transaction:
        raise BrokenInvariant("entries are written inside a transaction")


def _must_be_sound(draft: EntryDraft) -> None:
    if not draft.uid.startswith(f"{draft.kind}:") or not 0 < len(draft.texts) < _MAX_PARTS:
        raise BrokenInvariant(f"the entry {draft.uid[:80]!r} is not named for its kind, or has no part")
    if draft.headings and len(draft.headings) != len(draft.texts):
        raise BrokenInvariant(f"the entry {draft.uid[:80]!r} has not as many headings as parts")
    if max(map(len, draft.texts)) > ENTRY_PART_CHARS:
        raise BrokenInvariant(f"a part of the entry {draft.uid[:80]!r} is longer than {ENTRY_PART_CHARS:,} characters")
