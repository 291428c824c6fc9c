"""What people and agents write down, as the store takes and gives it: typed protocols and plain data.

Names (subjects, predicates, objects, tags) are compared in their normal form, see `model.learnings.names`. All text is
redacted by the caller. Everything is kept once in a transaction of its own, without the ingest lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import msgspec

from recollect.model.learnings.entries import ENTRY_PART_CHARS, EntryDraft
from recollect.model.learnings.notes import Batch, DiaryEntry, EarlierEnd, Fact

MEANS = "means"
"""The predicate of the glossary: the object is another word for the subject."""


class FactFilter(NamedTuple):
    """Which facts. Empty: all.

    subject, predicate, object: as a whole, compared in normal form; about: subject or object. at: only what held then;
    known_at: as the memory knew it then. is_history: also what ended or was retracted; else only what holds at `at`,
    or where that is None, what has no end that is known.
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    about: str = ""
    repo: str = ""
    batch: str = ""
    at: int | None = None
    known_at: int | None = None
    is_history: bool = False


class DiaryFilter(NamedTuple):
    """Which entries of diaries, the newest first. after, before: UTC microseconds, [after, before)."""

    agent: str = ""
    repo: str = ""
    session: str = ""
    batch: str = ""
    after: int | None = None
    before: int | None = None
    is_history: bool = False
    limit: int | None = None


class TagRow(NamedTuple):
    """A session's tag. tagged_at: UTC microseconds."""

    name: str
    session_uid: str
    tagged_at: int


class NoteReader(Protocol):
    """Reads notes. One thread's."""

    def facts(self, where: FactFilter) -> list[Fact]:
        """Return facts, the newest first by what they hold from, else by when they were recorded."""
        ...

    def named_facts(self, name: str) -> list[Fact]:
        """Return the fact of an id, else those whose id begins so."""
        ...

    def undone(self, facts: Iterable[Fact]) -> frozenset[str]:
        """Return the ids of those facts whose reference is a decision, learning or event that was undone."""
        ...

    def diary(self, where: DiaryFilter) -> list[DiaryEntry]:
        """Return entries of diaries, the newest first."""
        ...

    def named_diary(self, name: str) -> list[DiaryEntry]:
        """Return the entry of an id, else those whose id begins so."""
        ...

    def tags(self, *, session_uid: str = "", name: str = "") -> list[TagRow]:
        """Return tags by name, the newest first."""
        ...

    def batches(self) -> list[Batch]:
        """Return batches, the newest first."""
        ...

    def named_batches(self, name: str) -> list[Batch]:
        """Return the batch of an id, else those whose id begins so."""
        ...


class NoteWriter(NoteReader, Protocol):
    """Writes notes within one transaction that sees what others have written."""

    def put_fact(self, fact: Fact) -> None:
        """Keep a fact, and its entry for searches. The same id again replaces it."""
        ...

    def put_diary(self, entry: DiaryEntry) -> None:
        """Keep an entry of a diary, and its entry for searches. The same id again replaces it."""
        ...

    def tag(self, session_uid: str, name: str, at: int) -> bool:
        """Keep a tag; return whether it is new."""
        ...

    def untag(self, session_uid: str, name: str) -> bool:
        """Take a tag away; return whether it was there."""
        ...

    def put_batch(self, batch: Batch) -> None:
        """Keep a batch. The same id again replaces what it says."""
        ...


class NoteStore(Protocol):
    """Opens notes for reading and writing."""

    def reading(self) -> AbstractContextManager[NoteReader]:
        """Open for reading. Raises StoreError and its kinds."""
        ...

    def writing(self) -> AbstractContextManager[NoteWriter]:
        """Open one transaction; everything inside is kept or nothing. Raises StoreLocked, DiskFull, StoreError."""
        ...


def glossary_of(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the other words of each word, of (subject, object) pairs in normal form, in both directions."""
    words: dict[str, dict[str, None]] = {}
    for one, other in pairs:
        if one and other and one != other:
            words.setdefault(one, {})[other] = None
            words.setdefault(other, {})[one] = None
    return {word: tuple(sorted(others)) for word, others in words.items()}


def changed_fact(fact: Fact, *, at: int, valid_to: int | None = None, is_retracted: bool = False) -> Fact:
    """Return a fact as it is known from `at` on: ended at `valid_to`, or retracted. What was thought before is kept.

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
        texts=_parts(diary_lines(entry)),
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


def _parts(text: str) -> tuple[str, ...]:
    return tuple(cut_parts(text)) or ("",)


def cut_parts(text: str) -> Sequence[str]:
    """Return a text in parts that an entry takes, cut at the end of a line or word where there is one near."""
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
