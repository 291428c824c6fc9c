# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""The readers' side of entries: what a search shows of them, and what the index is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apsw

from recollect.model.learnings.entries import ENTRY_KINDS
from recollect.store.entries import (
    DOCUMENT_SHARD,
    EntryChange,
    EntryPart,
    EntryTexts,
    StoredEntry,
    key_of_entry,
    shard_of_entry,
    told_text,
)
from recollect.store.keys import ENTRY_BASE, SEQ_BITS
from recollect.store.ports import EventFilter, HitText, SessionKey
from recollect.store.sqlite.connection import store_errors
from recollect.store.sqlite.entries.codec import unpack_part
from recollect.store.sqlite.readers.filters import containing, int_array
from recollect.store.sqlite.readers.glossary import read_glossary
from recollect.store.sqlite.readers.pool import ReadPool

_COLUMNS = "number, uid, kind, title, agent, repo, path, session_uid, ts, status, state, parts"
_BATCH = 500
_SEQ_MASK = (1 << SEQ_BITS) - 1
_LAST = "\U0010ffff"
_AMONG = "IN (SELECT value FROM carray(?))"


class SqliteEntryReader:
    """Implements `store.entries.EntryReader` on a reader's connections."""

    def __init__(self, pool: ReadPool) -> None:
        self._pool = pool

    def entry(self, uid: str) -> EntryTexts | None:
        """Return an entry by its uid, or by a beginning of it that only one has."""
        with store_errors():
            db = self._pool.get()
            found = _stored(db, "uid = ?", (uid,))
            if not found and ":" in uid:
                found = _stored(db, "uid >= ? AND uid < ? LIMIT 2", (uid, uid + _LAST))
            return _with_texts(db, found)[0] if len(found) == 1 else None

    def has_changes(self) -> bool:
        """Tell whether the index has something to take."""
        with store_errors():
            return bool(self._pool.get().execute("SELECT EXISTS (SELECT 1 FROM entry_change)").get)

    def changes(self, *, limit: int = 1000) -> list[EntryChange]:
        """Return the oldest changes that the index has not taken yet."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute(
                "SELECT id, entry FROM entry_change ORDER BY id LIMIT ?", (limit,)
            )
            return [EntryChange(*row) for row in rows]

    def by_number(self, numbers: Iterable[int]) -> dict[int, EntryTexts]:
        """Return entries by number; those that are gone are left out."""
        with store_errors():
            db = self._pool.get()
            return entries_by_number(db, numbers)

    def of_shard(self, shard: str) -> Iterator[EntryTexts]:
        """Yield the entries of a part of the index by number; no transaction stays open in between."""
        condition = "kind = 'document'" if shard == DOCUMENT_SHARD else "kind <> 'document'"
        with store_errors():
            db = self._pool.get()
            rows: list[Any] = db.execute(f"SELECT number FROM entry WHERE {condition} ORDER BY number").fetchall()
        for first in range(0, len(rows), _BATCH):
            with store_errors():
                yield from _by_number(self._pool.get(), (number for (number,) in rows[first : first + _BATCH]))

    def shards(self) -> tuple[str, ...]:
        """Return the names of the parts of the index that must be there: those of entries that it has taken."""
        taken = "SELECT EXISTS (SELECT 1 FROM entry WHERE kind = ? AND number NOT IN (SELECT entry FROM entry_change))"
        with store_errors():
            db = self._pool.get()
            return tuple(sorted({shard_of_entry(kind) for kind in ENTRY_KINDS if db.execute(taken, (kind,)).get}))

    def glossary(self, now_us: int) -> dict[str, tuple[str, ...]]:
        """Return the other names of each name that the facts say mean the same at a time."""
        with store_errors():
            return read_glossary(self._pool.get(), now_us=now_us)

    def agents(self) -> tuple[str, ...]:
        """Return whose entries there are: slugs of agents, and names of people who keep a diary."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute("SELECT DISTINCT agent FROM entry")
            return tuple(agent for (agent,) in rows)

    def counts(self) -> dict[str, int]:
        """Return how many entries there are, by kind."""
        with store_errors():
            rows: Iterable[Any] = self._pool.get().execute("SELECT kind, count(*) FROM entry GROUP BY kind ORDER BY 1")
            return dict(rows)


def entries_by_number(db: apsw.Connection, numbers: Iterable[int]) -> dict[int, EntryTexts]:
    """Return entries of a database by number; those that are gone are left out."""
    return {one.entry.number: one for one in _by_number(db, numbers)}


def entries_in(db: apsw.Connection) -> Iterator[EntryTexts]:
    """Yield every entry of a database, by number."""
    rows: list[Any] = db.execute("SELECT number FROM entry ORDER BY number").fetchall()
    for first in range(0, len(rows), _BATCH):
        yield from _by_number(db, (number for (number,) in rows[first : first + _BATCH]))


def read_entry_keys(db: apsw.Connection, numbers: Iterable[int]) -> dict[int, SessionKey]:
    """Return what ranking needs of entries, by ENTRY_BASE and number: each is a session of its own."""
    wanted = [number - ENTRY_BASE for number in numbers if number >= ENTRY_BASE]
    if not wanted:
        return {}
    return {
        ENTRY_BASE + one.number: SessionKey(
            ENTRY_BASE + one.number, one.uid, one.uid, one.agent, one.parts, False, one.ts, one.ts, one.title, one.repo
        )
        for one in _stored(db, f"number {_AMONG}", (int_array(wanted),))
    }


def read_entry_numbers(db: apsw.Connection, where: EventFilter) -> frozenset[int]:
    """Return ENTRY_BASE and the number of the entries that match. None belongs to a branch or to a subagent."""
    if where.branches or where.is_subagent:
        return frozenset()
    terms: list[str] = []
    values: list[Any] = []
    if where.agents:
        terms.append(f"agent IN ({', '.join('?' * len(where.agents))})")
        values += [agent.lower() for agent in where.agents]
    if where.repos:
        repos = containing(db, "repo", where.repos, table="entry")
        # What was learned or noted of no repository holds in every one.
        terms.append(f"(repo IN ({', '.join('?' * len(repos))}) OR (repo = '' AND kind <> 'document'))")
        values += repos
    if where.sessions:
        numbers = {number for name in where.sessions for number in _named(db, name)}
        terms.append(f"number {_AMONG}")
        values.append(int_array(numbers))
    if where.tags:
        tags = ", ".join("?" * len(where.tags))
        tagged = f"(SELECT session_uid FROM tag WHERE name IN ({tags}))"
        terms.append(f"(uid IN {tagged} OR session_uid IN {tagged})")
        values += [*where.tags, *where.tags]
    rows: Iterable[Any] = db.execute(f"SELECT number FROM entry WHERE {' AND '.join(terms) or '1'}", values)
    return frozenset(ENTRY_BASE + number for (number,) in rows)


def read_entry_texts(db: apsw.Connection, keys: Iterable[int]) -> dict[int, HitText]:
    """Return what search shows of entries' parts, by key; unknown keys are left out."""
    parts = [((key >> SEQ_BITS) - ENTRY_BASE, key & _SEQ_MASK) for key in keys if key >> SEQ_BITS >= ENTRY_BASE]
    if not parts:
        return {}
    numbers = {number for number, _part in parts}
    entries = {one.number: one for one in _stored(db, f"number {_AMONG}", (int_array(numbers),))}
    found: dict[int, HitText] = {}
    for number, part in parts:
        entry = entries.get(number)
        row: Any = db.execute(
            "SELECT heading, text FROM entry_part WHERE entry = ? AND part = ?", (number, part)
        ).fetchone()
        if entry is None or row is None:
            continue
        told = EntryPart(part, row[0], unpack_part(row[1]))
        found[key_of_entry(number, part)] = HitText(
            event_id=entry.uid, part=part, seq=part, kind=entry.kind, ts=entry.ts, session_uid=entry.uid, tool="",
            summary=told.heading or entry.title, text=told_text(entry, told), is_hidden=False, status=entry.status,
            state=entry.state,
        )  # fmt: skip
    return found


def _named(db: apsw.Connection, name: str) -> list[int]:
    """Return the number of the entry of this uid, else of those whose uid begins so, its kind named."""
    rows: list[Any] = db.execute("SELECT number FROM entry WHERE uid = ?", (name,)).fetchall()
    if not rows and ":" in name:
        rows = db.execute("SELECT number FROM entry WHERE uid >= ? AND uid < ?", (name, name + _LAST)).fetchall()
    return [number for (number,) in rows]


def _by_number(db: apsw.Connection, numbers: Iterable[int]) -> list[EntryTexts]:
    return _with_texts(db, _stored(db, f"number {_AMONG} ORDER BY number", (int_array(numbers),)))


def _stored(db: apsw.Connection, condition: str, values: Sequence[Any]) -> list[StoredEntry]:
    rows: Iterable[Any] = db.execute(f"SELECT {_COLUMNS} FROM entry WHERE {condition}", values)
    return [StoredEntry(*row) for row in rows]


def _with_texts(db: apsw.Connection, entries: Sequence[StoredEntry]) -> list[EntryTexts]:
    parts: defaultdict[int, list[EntryPart]] = defaultdict(list)
    rows: Iterable[Any] = db.execute(
        f"SELECT entry, part, heading, text FROM entry_part WHERE entry {_AMONG} ORDER BY entry, part",
        (int_array(one.number for one in entries),),
    )
    for number, part, heading, packed in rows:
        parts[number].append(EntryPart(part, heading, unpack_part(packed)))
    return [EntryTexts(one, tuple(parts[one.number])) for one in entries]
