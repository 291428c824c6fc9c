"""One entry as it is shown: what was learned, noted or documented, part by part."""

from __future__ import annotations

import msgspec

from recollect.store.entries import EntryReader


class EntryPartView(msgspec.Struct, frozen=True):
    """One part. Cite it as `uid#part`. heading: the headings above it, "" for none."""

    part: int
    heading: str
    text: str


class EntryView(msgspec.Struct, frozen=True):
    """An entry, with a page of its parts. ts in UTC microseconds. part_count: how many it has.

    session_uid: the session that it came from, "" for none. next_part: where to go on; None at the end.
    """

    uid: str
    kind: str
    title: str
    agent: str
    repo: str
    path: str
    session_uid: str
    ts: int | None
    status: str
    state: str
    part_count: int
    parts: tuple[EntryPartView, ...]
    next_part: int | None = None
    notes: tuple[str, ...] = ()


def entry_view(entries: EntryReader, uid: str, *, first: int = 0, limit: int | None = None) -> EntryView | None:
    """Return an entry by its uid or a unique beginning of it, with its parts from `first` on; None without one."""
    found = entries.entry(uid)
    if found is None:
        return None
    entry, parts = found
    shown = [part for part in parts if part.part >= first]
    page = shown if limit is None else shown[:limit]
    return EntryView(
        uid=entry.uid,
        kind=entry.kind,
        title=entry.title,
        agent=entry.agent,
        repo=entry.repo,
        path=entry.path,
        session_uid=entry.session_uid,
        ts=entry.ts,
        status=entry.status,
        state=entry.state,
        part_count=entry.parts,
        parts=tuple(EntryPartView(*part) for part in page),
        next_part=shown[len(page)].part if len(page) < len(shown) else None,
    )
