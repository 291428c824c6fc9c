"""What of entries leaves the store: what was learned, noted and documented, part by part, and what changed of it.

An entry's key is `(ENTRY_BASE + number) << SEQ_BITS | part`: an address for the index beside the keys of events, and
`ENTRY_BASE + number` stands where an event has its session's number. Implemented by each backend.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from recollect.model.learnings.entries import ENTRY_KINDS, EntryKind
from recollect.store.keys import ENTRY_BASE, SEQ_BITS

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
    """One entry as it is kept, without its texts, see `model.learnings.entries.EntryDraft`. parts: how many it has."""

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


class EntryFeed(Protocol):
    """Reads entries for who keeps something of his own for each of their texts: vectors.

    What changed of them is told by comparing marks: the log of changes has one reader, the index, which drops it.
    Never blocked by the writer; safe from many threads.
    """

    def last_change(self) -> int:
        """Return the newest id that the log of changes of entries ever gave, 0 when there is none."""
        ...

    def marks(self, *, after: int = 0, limit: int = 10_000) -> list[tuple[int, int]]:
        """Return (number, mark) of the entries above a number, by number: another content has another mark."""
        ...

    def by_number(self, numbers: Iterable[int]) -> dict[int, EntryTexts]:
        """Return entries by number; those that are gone are left out."""
        ...


class EntryReader(Protocol):
    """Reads entries. Never blocked by the writer; safe from many threads."""

    def entry(self, uid: str) -> EntryTexts | None:
        """Return an entry by its uid, or by a beginning of it that only one has; None where that is not so."""
        ...

    def has_changes(self) -> bool:
        """Tell whether the index has something to take."""
        ...

    def changes(self, *, limit: int = 1000) -> list[EntryChange]:
        """Return the oldest changes that the index has not taken yet."""
        ...

    def by_number(self, numbers: Iterable[int]) -> dict[int, EntryTexts]:
        """Return entries by number; those that are gone are left out."""
        ...

    def of_shard(self, shard: str) -> Iterator[EntryTexts]:
        """Yield the entries of a part of the index by number; no transaction stays open in between."""
        ...

    def shards(self) -> tuple[str, ...]:
        """Return the names of the parts of the index that must be there: those of entries that it has taken."""
        ...

    def glossary(self, now_us: int) -> dict[str, tuple[str, ...]]:
        """Return the other names of each name that the facts say mean the same at a time, all in normal form."""
        ...

    def agents(self) -> tuple[str, ...]:
        """Return whose entries there are: slugs of agents, and names of people who keep a diary."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many entries there are, by kind."""
        ...


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
