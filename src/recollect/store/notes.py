# ruff: noqa: S608  statements are put together of our own constants; values are always bound
"""Facts, diaries and tags that people and agents write, and their batches, which can be undone.

Names (subjects, predicates, objects, tags) are compared in their normal form, see `model.learnings.names`. All text is
redacted by the caller. Everything is kept at once in a transaction of its own, without the ingest lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw
import msgspec

from recollect.model.learnings.entries import ENTRY_PART_CHARS, EntryDraft
from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Batch, BatchKind, DiaryEntry, EarlierEnd, Fact
from recollect.store.connection import (
    column,
    of_db,
    open_database,
    open_to_read,
    store_errors,
    transaction,
    withdraw_ready,
)
from recollect.store.documents import remove_documents
from recollect.store.entries import put_entries
from recollect.store.insights import unpack_node
from recollect.store.row_keys import SEQ_BITS, is_undone
from recollect.store.rows import Condition, Terms
from recollect.store.sessions import containing


class FactQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which facts. Empty: all that hold now.

    subject, predicate, object: compared as a whole, without case and spacing; about: subject or object. words: each
    must occur in the fact. repo: as in `EventFilter`. at: what held then; known_at: as the memory knew it then; UTC
    microseconds, None: now. is_history: facts of any state and time.
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    about: str = ""
    repo: str = ""
    words: tuple[str, ...] = ()
    at: int | None = None
    known_at: int | None = None
    is_history: bool = False


class DiaryQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which entries. Empty: all. repo: as in `EventFilter`. after, before: UTC microseconds, [after, before).
    is_history: include retired entries.
    """

    agent: str = ""
    repo: str = ""
    session: str = ""
    after: int | None = None
    before: int | None = None
    is_history: bool = False


class TagRow(NamedTuple):
    """A session's tag. tagged_at: UTC microseconds."""

    name: str
    session_uid: str
    tagged_at: int


def changed_fact(fact: Fact, *, at: int, valid_to: int | None = None, is_retracted: bool = False) -> Fact:
    """Return a fact as known from `at` on: ended at `valid_to`, or retracted. Keeps earlier beliefs.

    Never at the instant of its recording or of an earlier change: each state was known for a moment.
    """
    last = fact.recorded_at if fact.invalidated_at is None else fact.invalidated_at
    since = max(at, last + 1)
    return msgspec.structs.replace(
        fact,
        valid_to=fact.valid_to if is_retracted else valid_to,
        is_retracted=is_retracted,
        invalidated_at=since,
        earlier=(*fact.earlier, EarlierEnd(since, fact.valid_to)),
    )


def fact_as_known(fact: Fact, known_at: int) -> Fact | None:
    """Return a fact as the memory knew it at an instant, None before it was recorded."""
    if fact.recorded_at > known_at:
        return None
    for number, earlier in enumerate(fact.earlier):
        if known_at < earlier.until:
            since = fact.earlier[number - 1].until if number else None
            return msgspec.structs.replace(
                fact,
                valid_to=earlier.valid_to,
                is_retracted=False,
                invalidated_at=since,
                earlier=fact.earlier[:number],
            )
    return fact


def fact_state(fact: Fact) -> str:
    """Return what became of a fact as the memory knows it: "holds", "ended" or "retracted"."""
    if fact.is_retracted:
        return "retracted"
    return "holds" if fact.valid_to is None else "ended"


def fact_entry(fact: Fact) -> EntryDraft:
    """Return what a search finds of a fact."""
    words = f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}"
    return EntryDraft(
        uid=f"fact:{fact.id}",
        kind="fact",
        title=f"{fact.subject} {fact.predicate} {fact.object}"[:200],
        texts=(words,),
        repo=fact.repo,
        session_uid=_session_of(fact.reference),
        ts=fact.valid_from if fact.valid_from is not None else fact.recorded_at,
        status=fact.status,
        state=fact_state(fact),
    )


def diary_entry(entry: DiaryEntry) -> EntryDraft:
    """Return what a search finds of an entry of a diary."""
    return EntryDraft(
        uid=f"diary:{entry.id}",
        kind="diary",
        title=entry.topic or entry.text.partition("\n")[0][:120],
        texts=tuple(cut_parts(diary_lines(entry))) or ("",),
        agent=entry.agent,
        repo=entry.repo,
        session_uid=entry.sessions[0] if entry.sessions else "",
        ts=entry.written_at,
        status="observed",
        state="active" if entry.retired_at is None else "retired",
    )


def diary_lines(entry: DiaryEntry) -> str:
    """Return all that an entry of a diary says, as text."""
    named = (("Decided", entry.decided), ("Discovered", entry.discovered), ("Left pending", entry.left_pending))
    lines = [entry.topic, entry.text, *(f"{name}: {line}" for name, said in named for line in said)]
    if entry.sessions:
        lines.append(f"Sessions: {' '.join(entry.sessions)}")
    return "\n".join(line for line in lines if line)


def cut_parts(text: str) -> Sequence[str]:
    """Return a text in parts that an entry takes, cut at the end of a line or word if there is one near."""
    parts: list[str] = []
    while len(text) > ENTRY_PART_CHARS:
        head = text[:ENTRY_PART_CHARS]
        cut = max(head.rfind("\n", ENTRY_PART_CHARS // 2), head.rfind(" ", ENTRY_PART_CHARS // 2)) + 1
        parts.append(text[: cut or ENTRY_PART_CHARS])
        text = text[cut or ENTRY_PART_CHARS :]
    return [*parts, text] if text.strip() else parts


def _session_of(reference: str) -> str:
    uid, mark, seq = reference.rpartition("#")
    return uid if mark and seq.isdecimal() else ""


_Note = TypeVar("_Note", Batch, DiaryEntry, Fact)
_decode_batch = msgspec.json.Decoder(Batch).decode


def new_batch(kind: BatchKind, *, started_at: int, about: str = "") -> Batch:
    """Return a batch that nobody has yet. about: one line for people, redacted. started_at: UTC microseconds."""
    return Batch(id=f"b{os.urandom(6).hex()}", kind=kind, started_at=started_at, about=about)


def add_batch(db: apsw.Connection, batch: Batch) -> None:
    """Keep a batch, inside the caller's transaction. Again with the same id: what it says is replaced, say its counts.

    A run that adds nothing should keep none.
    """
    db.execute(
        "INSERT INTO batch VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET undone_at = ?4, json = ?5",
        (batch.id, batch.kind, batch.started_at, batch.undone_at, msgspec.json.encode(batch).decode()),
    )


decode_fact = msgspec.json.Decoder(Fact).decode
_SEQ_DIGITS = 8
_HOLDS_AT = "coalesce(valid_from <= ?, TRUE) AND coalesce(valid_to > ?, TRUE)"


def put_fact(db: apsw.Connection, fact: Fact) -> None:
    """Keep a fact and its entry, inside the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO fact VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            fact.id, normal_name(fact.subject), normal_predicate(fact.predicate), normal_name(fact.object),
            fact.valid_from, fact.valid_to, fact.repo, fact.recorded_at, fact.invalidated_at, fact.is_retracted,
            fact.batch, msgspec.json.encode(fact).decode(),
        ),
    )  # fmt: skip
    put_entries(db, [fact_entry(fact)])


def _is_undone(db: apsw.Connection, reference: str) -> bool:
    kind, _, name = reference.partition(":")
    if kind == "decision":
        data: bytes | None = db.execute("SELECT data FROM node WHERE id = ?", (reference,)).get
        return data is not None and unpack_node(data).is_undone
    if kind == "learning":
        state: str | None = db.execute("SELECT state FROM learning WHERE id = ?", (name,)).get
        return state == "undone"
    uid, _, seq = reference.rpartition("#")
    if not uid or not seq.isdecimal() or len(seq) > _SEQ_DIGITS:
        return False
    bits: int | None = db.execute(
        f"SELECT bits FROM session JOIN event ON key = (number << {SEQ_BITS}) + ? WHERE uid = ?", (int(seq), uid)
    ).get
    return bits is not None and is_undone(bits)


def _condition(db: apsw.Connection, where: FactQuestion, batch: str) -> Condition:
    """Return the conditions that columns answer. What the memory knew at another time, only the facts themselves do."""
    terms, about = Terms(), normal_name(where.about)
    terms.given(
        ("subject = ?", normal_name(where.subject)),
        ("predicate = ?", normal_predicate(where.predicate)),
        ("object = ?", normal_name(where.object)),
        ("batch = ?", batch),
        ("recorded_at <= ?", where.known_at),
    )
    if where.repo:
        terms.one_of("repo", containing(db, "repo", (where.repo,), table="fact"))
    if about:
        terms.add("(subject = ? OR object = ?)", about, about)
    if where.known_at is None and not where.is_history:
        terms.add("NOT is_retracted")
    if where.known_at is None and where.at is not None:
        terms.add(_HOLDS_AT, where.at, where.at)
    elif where.known_at is None and not where.is_history:
        terms.add("valid_to IS NULL")
    return terms.condition


def _as_known(fact: Fact, where: FactQuestion) -> Fact | None:
    """Return a fact as the memory knew it at `where.known_at`; None if it does not match then."""
    if where.known_at is None:
        return fact
    known = fact_as_known(fact, where.known_at)
    if known is None:
        return None
    fact = known
    if where.at is not None and not _holds_at(fact, where.at):
        return None
    if where.is_history:
        return fact
    return None if fact.is_retracted or (where.at is None and fact.valid_to is not None) else fact


def _holds_at(fact: Fact, at: int) -> bool:
    return (fact.valid_from is None or fact.valid_from <= at) and (fact.valid_to is None or at < fact.valid_to)


decode_diary = msgspec.json.Decoder(DiaryEntry).decode


def put_diary(db: apsw.Connection, entry: DiaryEntry) -> None:
    """Keep an entry of a diary and what a search finds of it, inside the caller's transaction."""
    db.execute(
        "INSERT OR REPLACE INTO diary VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            entry.id, entry.agent, entry.repo, entry.written_at, entry.batch, entry.retired_at,
            msgspec.json.encode(entry).decode(),
        ),
    )  # fmt: skip
    put_entries(db, [diary_entry(entry)])


class NoteStore:
    """Opens notes for reading and writing."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @contextmanager
    def reading(self) -> Iterator[NoteReader]:
        """Open for reading: one state of the database. Raises StoreError and its subclasses."""
        with open_to_read(self._home) as db:
            db.execute("BEGIN")
            yield NoteReader(db)

    @contextmanager
    def writing(self) -> Iterator[NoteWriter]:
        """Open one transaction; everything inside is kept or nothing.

        Takes the stamp of ready blocks away, for a context may tell what is written: before, so that a crash leaves no
        stale one, and after, for one that somebody made meanwhile. Waits for another writer up to the busy timeout.
        Raises StoreLocked, DiskFull, StoreError.
        """
        with closing(open_database(self._home, "write")) as db, store_errors():
            withdraw_ready(self._home)
            with transaction(db):
                yield NoteWriter(db)
            withdraw_ready(self._home)


class NoteReader:
    """Reads notes. One thread's."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    @property
    def db(self) -> apsw.Connection:
        """The connection, for what else belongs into the transaction."""
        return self._db

    def facts(self, where: FactQuestion, *, batch: str = "") -> list[Fact]:
        """Return facts (of a batch), newest first by what they hold from, else by when they were recorded.

        What `where` says of words is not looked at. Without `at`, a fact holds that has no end that is known.
        """
        condition, values = _condition(self._db, where, batch)
        rows: Any = self._db.execute(
            f"SELECT json FROM fact WHERE {condition} "
            "ORDER BY coalesce(valid_from, recorded_at) DESC, recorded_at DESC, id",
            values,
        ).fetchall()
        return [fact for (text,) in rows if (fact := _as_known(decode_fact(text), where)) is not None]

    def named_facts(self, name: str) -> list[Fact]:
        """Return the fact of an id, else those whose id begins so."""
        return self._named("fact", name, decode_fact)

    def undone(self, facts: Iterable[Fact]) -> frozenset[str]:
        """Return the ids of those facts whose reference is a decision, learning or event that was undone."""
        return frozenset(fact.id for fact in facts if fact.reference and _is_undone(self._db, fact.reference))

    def diary(self, where: DiaryQuestion, *, batch: str = "") -> list[DiaryEntry]:
        """Return entries of diaries (of a batch), newest first."""
        terms = Terms() if where.is_history else Terms("retired_at IS NULL")
        terms.given(
            ("agent = ?", where.agent),
            ("batch = ?", batch),
            ("written_at >= ?", where.after),
            ("written_at < ?", where.before),
            ("EXISTS (SELECT 1 FROM json_each(diary.json, '$.sessions') AS said WHERE said.value = ?)", where.session),
        )
        if where.repo:
            terms.one_of("repo", containing(self._db, "repo", (where.repo,), table="diary"))
        condition, values = terms.condition
        rows: Any = self._db.execute(
            f"SELECT json FROM diary WHERE {condition} ORDER BY written_at DESC, id", values
        ).fetchall()
        return [decode_diary(text) for (text,) in rows]

    def named_diary(self, name: str) -> list[DiaryEntry]:
        """Return the entry of an id, else those whose id begins so."""
        return self._named("diary", name, decode_diary)

    def tags(self, *, session_uid: str = "", name: str = "") -> list[TagRow]:
        """Return tags by name, newest first."""
        rows: Any = self._db.execute(
            "SELECT name, session_uid, tagged_at FROM tag "
            "WHERE (?1 = '' OR session_uid = ?1) AND (?2 = '' OR name = ?2) "
            "ORDER BY name, tagged_at DESC, session_uid",
            (session_uid, name),
        ).fetchall()
        return [TagRow(*row) for row in rows]

    def batches(self) -> list[Batch]:
        """Return batches, newest first."""
        return [_decode_batch(text) for text in column(self._db, "SELECT json FROM batch ORDER BY started_at DESC, id")]

    def named_batches(self, name: str) -> list[Batch]:
        """Return the batch of an id, else those whose id begins so."""
        return self._named("batch", name, _decode_batch, limit=-1)

    def _named(self, table: str, name: str, decode: Callable[[str], _Note], *, limit: int = 20) -> list[_Note]:
        """Return the row of an id, else those whose id begins so."""
        rows: Any = self._db.execute(
            f"SELECT json FROM {table} WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2",
            (name, limit),
        ).fetchall()
        found = [decode(text) for (text,) in rows]
        return [note for note in found if note.id == name] or found


class NoteWriter(NoteReader):
    """Writes notes within one transaction that sees what others have written."""

    put_fact = of_db(put_fact)
    put_diary = of_db(put_diary)

    def tag(self, session_uid: str, name: str, at: int) -> bool:
        """Keep a tag; return whether it is new."""
        row = (name, session_uid, at)
        return bool(self._db.execute("INSERT OR IGNORE INTO tag VALUES (?, ?, ?) RETURNING 1", row).get)

    def untag(self, session_uid: str, name: str) -> bool:
        """Take a tag away; return whether it was there."""
        statement = "DELETE FROM tag WHERE name = ? AND session_uid = ? RETURNING 1"
        return bool(self._db.execute(statement, (name, session_uid)).get)

    put_batch = of_db(add_batch)


_GROUP = 100
"""So many are retired in one transaction, which keeps others from waiting long."""
_Item = TypeVar("_Item")


class Undone(NamedTuple):
    """How many facts were retracted, diary entries retired, documents taken out; whether there are learnings too."""

    facts: int
    diary: int
    documents: int
    has_learnings: bool


def undo_batch(store: NoteStore, batch: Batch, *, at: int) -> Undone:
    """Retire what a batch added, after recording the time. Repeating it is harmless; a killed one continues.

    A fact that somebody stated since, or retracted, stays so. at: UTC microseconds. Learnings of the batch are left to
    their own writer: their state depends on `undone_at`. Raises StoreError and its subclasses.
    """
    with store.writing() as notes:
        if batch.undone_at is None:
            add_batch(notes.db, msgspec.structs.replace(batch, undone_at=at))
        # First, so that no pass over its folder ingests again what goes.
        notes.db.execute(
            "DELETE FROM collection WHERE json ->> '$.batch' = ?1 AND NOT EXISTS (SELECT 1 "
            "FROM document AS held WHERE held.collection = collection.name AND held.json ->> '$.batch' <> ?1)",
            (batch.id,),
        )
    with store.reading() as notes:
        facts = [f.id for f in notes.facts(FactQuestion(is_history=True), batch=batch.id) if not f.is_retracted]
        entries = [entry.id for entry in notes.diary(DiaryQuestion(), batch=batch.id)]
        documents: Any = notes.db.execute(
            "SELECT collection, path FROM document WHERE json ->> '$.batch' = ?", (batch.id,)
        ).fetchall()
        learned = bool(notes.db.execute("SELECT EXISTS (SELECT 1 FROM learning WHERE batch = ?)", (batch.id,)).get)
    count = sum(_retract(store, group, batch.id, at) for group in _groups(facts))
    retired = sum(_retire(store, group, batch.id, at) for group in _groups(entries))
    removed = sum(_remove(store, group, batch.id) for group in _groups(documents))
    with store.writing() as notes:
        _remove_empty(notes.db, {collection for collection, _path in documents})
    return Undone(count, retired, removed, learned)


def _retract(store: NoteStore, ids: Sequence[str], batch: str, at: int) -> int:
    with store.writing() as notes:
        found = [fact for name in ids for fact in notes.named_facts(name) if fact.id == name and fact.batch == batch]
        held = [fact for fact in found if not fact.is_retracted]
        for fact in held:
            notes.put_fact(changed_fact(fact, at=at, is_retracted=True))
        return len(held)


def _retire(store: NoteStore, ids: Sequence[str], batch: str, at: int) -> int:
    with store.writing() as notes:
        found = [entry for name in ids for entry in notes.named_diary(name) if entry.id == name]
        kept = [entry for entry in found if entry.batch == batch and entry.retired_at is None]
        for entry in kept:
            notes.put_diary(msgspec.structs.replace(entry, retired_at=at))
        return len(kept)


def _remove(store: NoteStore, documents: Sequence[tuple[str, str]], batch: str) -> int:
    with store.writing() as notes:
        count = 0
        for collection, path in documents:
            told: Any = notes.db.execute(
                "SELECT json ->> '$.batch' FROM document WHERE collection = ? AND path = ?", (collection, path)
            ).get
            if told == batch:
                count += remove_documents(notes.db, collection, (path,))
        return count


def _remove_empty(db: apsw.Connection, collections: set[str]) -> None:
    """Remove empty collections of other runs."""
    for name in collections:
        db.execute(
            "DELETE FROM collection WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM document WHERE collection = ?1)",
            (name,),
        )


def _groups(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _GROUP):
        yield items[start : start + _GROUP]
