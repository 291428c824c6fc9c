# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Searchable entries from learnings, notes and documents, and their changes.

An entry's key is `(ENTRY_BASE + number) << SEQ_BITS | part`: an address for the index beside the keys of events, and
`ENTRY_BASE + number` stands where an event has its session's number. Entries are written with the row that they tell
of, in the caller's transaction, and noted for the index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import apsw
import msgspec

from recollect.errors import BrokenInvariant
from recollect.model.learnings.entries import ENTRY_KINDS, ENTRY_PART_CHARS, EntryDraft, EntryKind
from recollect.store.bodies import compress, unpack
from recollect.store.connection import PooledReader, column, of_db, query
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS, SEQ_MASK
from recollect.store.rows import EventFilter, HitText, SessionKey, Terms, marks_for
from recollect.store.sessions import containing, int_array

MEANS = "means"
"""The predicate of the glossary: the object is another word for the subject."""


def glossary_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the other words of each word, of (subject, object) pairs in normal form, in both directions."""
    words: dict[str, dict[str, None]] = {}
    for one, other in pairs:
        if one and other and one != other:
            words.setdefault(one, {})[other] = None
            words.setdefault(other, {})[one] = None
    return {word: tuple(sorted(others)) for word, others in words.items()}


DOCUMENT_SHARD = "documents"
"""The part of the index that has the project documents."""
NOTE_SHARD = "notes"
"""The part of the index that has learnings, facts, diary entries and actions."""
ENTRY_SHARDS = (DOCUMENT_SHARD, NOTE_SHARD)
MARK_CLASS_BITS = 4
"""The last bits of an entry's mark: the place of its kind among ENTRY_KINDS."""
_MARK_BYTES = 7


class EntryPart(NamedTuple):
    """One part of an entry: its number, the path of headings above it ("" for none), its redacted text."""

    part: int
    heading: str
    text: str


class StoredEntry(NamedTuple):
    """One stored entry without its texts; see `model.learnings.entries.EntryDraft`. parts: their number."""

    number: int
    uid: str
    kind: EntryKind
    title: str
    agent: str
    repo: str
    path: str
    session_uid: str
    ts: int | None
    status: str
    state: str
    parts: int


class EntryTexts(NamedTuple):
    """An entry with the text of all its parts, in order."""

    entry: StoredEntry
    parts: tuple[EntryPart, ...]


class EntryChange(NamedTuple):
    """One line of the log of what changed of entries: `number` was written, or is gone."""

    id: int
    number: int


def shard_of_entry(kind: str) -> str:
    """Return the name of the part of the index that has entries of a kind."""
    return DOCUMENT_SHARD if kind == "document" else NOTE_SHARD


def told_text(entry: StoredEntry, part: EntryPart) -> str:
    """Return what a part is found by and shown as: its text, below its heading and, of the first part, the title,
    unless the text says these itself."""
    above = (entry.title if part.part == 0 else "", part.heading)
    return "\n".join((*(line for line in dict.fromkeys(above) if line and line not in part.text), part.text))


def mark_of(kind: str, sha256: bytes) -> int:
    """Return the mark of an entry: of its kind, which is in the last MARK_CLASS_BITS, and of all that it says."""
    return int.from_bytes(sha256[:_MARK_BYTES], "big") << MARK_CLASS_BITS | mark_class(kind)


def mark_class(kind: str) -> int:
    """Return what the marks of all entries of a kind have in their last MARK_CLASS_BITS."""
    return ENTRY_KINDS.index(kind)


def keys_of_entry(number: int) -> tuple[int, int]:
    """Return the first and the last key that a part of an entry may have."""
    first = key_of_entry(number, 0)
    return first, first | (1 << SEQ_BITS) - 1


def key_of_entry(number: int, part: int) -> int:
    """Return the key of an entry's part."""
    return (ENTRY_BASE + number) << SEQ_BITS | part


_HINT = "write the learning, note or document again, or restore a backup"


def pack_part(text: str) -> bytes:
    """Return the stored form of a text; lone surrogates become replacement characters."""
    return compress(text.encode("utf-8", "replace"))


def unpack_part(data: bytes) -> str:
    """Return the text of its stored form. Raises StoreCorrupt."""
    return unpack(data, bytes.decode, "the text of an entry is", hint=_HINT)


def read_glossary(db: apsw.Connection, *, now_us: int) -> dict[str, tuple[str, ...]]:
    """Return the other words of each word (both normal, see `model.learnings.names`) that mean the same now.

    It goes both ways: after `k8s means kubernetes` each of them has the other.
    """
    rows: Any = db.execute(
        "SELECT subject, object FROM fact WHERE predicate = ? AND NOT is_retracted "
        "AND coalesce(valid_from <= ?, TRUE) AND coalesce(valid_to > ?, TRUE)",
        (MEANS, now_us, now_us),
    ).fetchall()
    return glossary_of(rows)


_COLUMNS = "number, uid, kind, title, agent, repo, path, session_uid, ts, status, state, parts"
_BATCH = 500
_LAST = "\U0010ffff"
_AMONG = "IN (SELECT value FROM carray(?))"


def entries_by_number(db: apsw.Connection, numbers: Iterable[int]) -> dict[int, EntryTexts]:
    """Return entries of a database by number; those that are gone are left out."""
    return {one.entry.number: one for one in _by_number(db, numbers)}


class EntryReader(PooledReader):
    """Reads entries. Never blocked by the writer; safe from many threads."""

    def entry(self, uid: str) -> EntryTexts | None:
        """Return an entry by its uid or unique prefix; None without one."""
        found = _stored(self._db, "uid = ?", (uid,))
        if not found and ":" in uid:
            found = _stored(self._db, "uid >= ? AND uid < ? LIMIT 2", (uid, uid + _LAST))
        return _with_texts(self._db, found)[0] if len(found) == 1 else None

    def has_changes(self) -> bool:
        """Return whether the index has changes to process."""
        return bool(self._db.execute("SELECT EXISTS (SELECT 1 FROM entry_change)").get)

    def changes(self, *, limit: int = 1000) -> list[EntryChange]:
        """Return the oldest changes that the index has not taken yet."""
        rows: Iterable[Any] = self._db.execute("SELECT id, entry FROM entry_change ORDER BY id LIMIT ?", (limit,))
        return [EntryChange(*row) for row in rows]

    by_number = of_db(entries_by_number)

    def last_change(self) -> int:
        """Return the newest id that the log of changes of entries ever gave, 0 when there is none."""
        found = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entry_change'").get
        return int(found or 0)

    def marks(self, *, after: int = 0, limit: int = 10_000) -> list[tuple[int, int]]:
        """Return (number, mark) of the entries above a number, by number: another content has another mark.

        For who stores something for each text, vectors: the log of changes has one reader, the index, which deletes it.
        """
        rows: Iterable[Any] = self._db.execute(
            "SELECT number, kind, sha256 FROM entry WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
        )
        return [(number, mark_of(kind, sha256)) for number, kind, sha256 in rows]

    def of_shard(self, shard: str) -> Iterator[EntryTexts]:
        """Yield the entries of a part of the index by number; no transaction stays open in between."""
        condition = "kind = 'document'" if shard == DOCUMENT_SHARD else "kind <> 'document'"
        with self._reading() as db:
            rows: list[Any] = db.execute(f"SELECT number FROM entry WHERE {condition} ORDER BY number").fetchall()
        for first in range(0, len(rows), _BATCH):
            with self._reading() as db:
                yield from _by_number(db, (number for (number,) in rows[first : first + _BATCH]))

    def shards(self) -> tuple[str, ...]:
        """Return the names of the parts of the index that must be there: those of entries that it has taken."""
        return self._remembered("entry shards", _read_entry_shards)

    def glossary(self, now_us: int) -> dict[str, tuple[str, ...]]:
        """Return the other names of each name that the facts say mean the same at a time, all in normal form."""
        return read_glossary(self._db, now_us=now_us)

    def agents(self) -> tuple[str, ...]:
        """Return whose entries there are: slugs of agents, and names of people who keep a diary."""
        return tuple(column(self._db, "SELECT DISTINCT agent FROM entry"))

    def counts(self) -> dict[str, int]:
        """Return how many entries there are, by kind."""
        return dict(query(self._db, "SELECT kind, count(*) FROM entry GROUP BY kind ORDER BY 1"))


def _read_entry_shards(db: apsw.Connection) -> tuple[str, ...]:
    taken = "SELECT EXISTS (SELECT 1 FROM entry WHERE kind = ? AND number NOT IN (SELECT entry FROM entry_change))"
    return tuple(sorted({shard_of_entry(kind) for kind in ENTRY_KINDS if db.execute(taken, (kind,)).get}))


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
            ENTRY_BASE + one.number,
            one.uid,
            one.uid,
            one.agent,
            one.parts,
            False,
            one.ts,
            one.ts,
            one.title,
            one.repo,
            shard=shard_of_entry(one.kind),
        )
        for one in _stored(db, f"number {_AMONG}", (int_array(wanted),))
    }


def read_entry_numbers(db: apsw.Connection, where: EventFilter) -> frozenset[int]:
    """Return ENTRY_BASE and the number of the entries that match. None belongs to a branch or to a subagent."""
    if where.branches or where.is_subagent:
        return frozenset()
    terms = Terms()
    if where.agents:
        terms.one_of("agent", (agent.lower() for agent in where.agents))
    if where.repos:
        repos = containing(db, "repo", where.repos, table="entry")
        # What was learned or noted of no repository holds in every one.
        terms.add(f"(repo IN ({marks_for(repos)}) OR (repo = '' AND kind <> 'document'))", *repos)
    if where.sessions:
        numbers = {number for name in where.sessions for number in _named(db, name)}
        terms.add(f"number {_AMONG}", int_array(numbers))
    if where.tags:
        tagged = f"(SELECT session_uid FROM tag WHERE name IN ({marks_for(where.tags)}))"
        terms.add(f"(uid IN {tagged} OR session_uid IN {tagged})", *where.tags, *where.tags)
    condition, values = terms.condition
    rows: Iterable[Any] = db.execute(f"SELECT number FROM entry WHERE {condition}", values)
    return frozenset(ENTRY_BASE + number for (number,) in rows)


def read_entry_texts(db: apsw.Connection, keys: Iterable[int]) -> dict[int, HitText]:
    """Return what search shows of entries' parts, by key; unknown keys are left out."""
    parts = [((key >> SEQ_BITS) - ENTRY_BASE, key & SEQ_MASK) for key in keys if key >> SEQ_BITS >= ENTRY_BASE]
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
    return [StoredEntry(*row) for row in query(db, f"SELECT {_COLUMNS} FROM entry WHERE {condition}", values)]


def _with_texts(db: apsw.Connection, entries: Sequence[StoredEntry]) -> list[EntryTexts]:
    parts: defaultdict[int, list[EntryPart]] = defaultdict(list)
    rows: Iterable[Any] = db.execute(
        f"SELECT entry, part, heading, text FROM entry_part WHERE entry {_AMONG} ORDER BY entry, part",
        (int_array(one.number for one in entries),),
    )
    for number, part, heading, packed in rows:
        parts[number].append(EntryPart(part, heading, unpack_part(packed)))
    return [EntryTexts(one, tuple(parts[one.number])) for one in entries]


def read_entry_marks(db: apsw.Connection, numbers: Collection[int]) -> dict[int, int]:
    """Return the marks of those entries that exist. Numbers include ENTRY_BASE on both sides."""
    rows: Iterable[Any] = db.execute(
        "SELECT number, kind, sha256 FROM entry WHERE number IN (SELECT value FROM carray(?))",
        (int_array([number - ENTRY_BASE for number in numbers]),),
    )
    return {ENTRY_BASE + number: mark_of(kind, sha256) for number, kind, sha256 in rows}


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
    """Write entries in the caller's transaction, and note changed ones for the index.

    An existing entry keeps its number. Texts are redacted already.

    Returns:
        How many are new or changed; an unchanged one writes nothing.
    Raises:
        BrokenInvariant: a draft violates `EntryDraft`, or there is no transaction.
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
    """Remove entries in the caller's transaction, and note that for the index. Ignores unknown uids.

    Returns:
        How many existed.
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
    """Change the text of an entry with one part, in the caller's transaction. Ignores unknown uids."""
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


def acknowledge_entries(db: apsw.Connection, change_id: int) -> None:
    """Drop the changes of entries up to this one: the index has them. Inside a transaction."""
    db.execute("DELETE FROM entry_change WHERE id <= ?", (change_id,))


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
