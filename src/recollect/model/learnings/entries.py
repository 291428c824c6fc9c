"""Entries: texts that a search finds beside events: learnings, facts, diary entries, actions, documents."""

from __future__ import annotations

from typing import Literal

import msgspec

EntryKind = Literal["learning", "fact", "diary", "action", "document"]

ENTRY_KINDS: tuple[EntryKind, ...] = ("learning", "fact", "diary", "action", "document")
"""All of them are also values of `kind:` in a query. The place of each is kept with vectors (`store.entries.mark_of`):
where it changes, they are to be made again (`index.vectors.texts.ENTRY_CUTTING`)."""
APART_KINDS: tuple[EntryKind, ...] = ("learning", "fact", "diary", "action")
"""Ranked and shown apart from transcripts and documents unless a query asks for them by kind."""
FORMER_STATES = frozenset(("retired", "superseded", "done", "expired", "ended", "retracted"))
"""The values of `EntryDraft.state` of what does not hold any more: found, shown as such, ranked lower."""
ENTRY_PART_CHARS = 16_384
"""A part's text is no longer than this; who makes entries cuts them at a sensible place."""


def is_entry_uid(uid: str) -> bool:
    """Return whether a uid or citation is an entry's and not a session's: no agent has the name of a kind."""
    return uid.partition(":")[0] in ENTRY_KINDS


def parts_of_citation(cited: str) -> tuple[str, int | None]:
    """Return (uid, part) of `uid#part`; part None if there is none. A path may contain a # itself."""
    uid, mark, part = cited.rpartition("#")
    return (uid, int(part)) if mark and part.isascii() and part.isdecimal() and len(part) < 9 else (cited, None)


class EntryDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A searchable entry. All text is redacted already.

    uid: `learning:ID`, `fact:ID`, `diary:ID`, `action:ID`, `document:COLLECTION/PATH`, permanent; `uid#part` cites a
    part. texts: one per part. headings: one per part, "" or the path of headings above it ("Install > Linux"); empty:
    none. agent, repo, path: for filters, "" for none. session_uid: the session that it came from. ts: UTC microseconds,
    for recency. status: epistemic. state: in the words of its kind ("active", "retired" …), for display.
    """

    uid: str
    kind: EntryKind
    title: str
    texts: tuple[str, ...]
    headings: tuple[str, ...] = ()
    agent: str = ""
    repo: str = ""
    path: str = ""
    session_uid: str = ""
    ts: int | None = None
    status: str = "observed"
    state: str = ""
