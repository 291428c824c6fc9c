"""The journal: a tree of entries whose active branch is `messages`. It gives what the messages lack.

Ids and times in it are made anew with every save, so they only say who hangs on whom within one document. An entry
that the messages hold too is passed over. Any other is a branch that was left (marked as a sidechain), which belongs
behind the message that it hangs on, or, where the messages begin with a summary, what stood before it.
Evidence: format notes: CodeWhale; reference: recall and MCP, 5.4.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.codewhale.messages import give_branch, give_compaction, read_message
from recollect.agents.codewhale.state import MAX_ABANDONED, MAX_ENTRIES, Abandoned, Entry, Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.instants import instant
from recollect.agents.kit.naming import content_sha256
from recollect.model.payloads import Rewind

_COMMON = frozenset(("id", "parent_id", "kind", "created_at", "spawn_depth"))
_FIELDS: dict[str, frozenset[str]] = {
    "message": _COMMON | {"message"},
    "user": _COMMON | {"text"},
    "assistant": _COMMON | {"text"},
    "compaction": _COMMON | {"summary", "tokens_before", "tokens_after", "model"},
    "branch_summary": _COMMON | {"branch_id", "summary", "parent_branch_id"},
    "system": _COMMON | {"content"},
}
_COUNTS = ("tokens_before", "tokens_after", "model")
_BRANCH = ("branch_id", "parent_branch_id")
_JOURNAL_FIELDS = frozenset(("entries", "leaf_id", "schema_version", "spawn_depth"))


def read_entry(reading: Reading, entry: dict[str, Any]) -> None:
    """Give what one entry adds to the messages."""
    kind = reading.text(entry, "kind")
    fields = _FIELDS.get(kind)
    if fields is None:
        name = f"entry:{content_sha256(reading.now('lineage'), _lasting(entry))}"
        reading.unknown(f"journal/{kind}", native_id=name)
        return
    reading.infer(_bounded(reading, instant(entry.get("created_at"))))
    parent = _find(reading, entry.get("parent_id"))
    reading.set(is_again=True, before=parent.chain if parent else "", first="", has_new=False)
    first_event = len(reading.events)
    is_framing = kind in ("compaction", "branch_summary", "system")
    is_kept = reading.now("is_compacted") and not reading.now("is_past_summary")
    message = _message_of(entry, kind)
    if kind == "compaction":
        counts = {k: entry[k] for k in _COUNTS if entry.get(k) is not None}
        give_compaction(reading, reading.text(entry, "summary"), counts)
        # What was kept stands behind it again. Only the summary with which the messages begin ends their history.
        reading.set(
            is_past_summary=reading.now("is_past_summary") or not reading.now("has_new"), seen_again=(), before=""
        )
    elif kind == "branch_summary":
        give_branch(reading, reading.text(entry, "summary"), {k: entry[k] for k in _BRANCH if entry.get(k)})
    else:
        read_message(reading, message)
    is_off = reading.now("has_new") and not is_framing and not is_kept
    if is_off:
        _place(reading, first_event, parent.last if parent else None, is_off=True)
    elif is_kept and not is_framing:
        _place(reading, first_event, reading.now("history"), is_off=False)
    name = reading.now("first")
    chain = reading.now("before")  # as in the messages: a summary begins anew, other framing changes nothing
    last = reading.newest() if len(reading.events) > first_event else dict(reading.now("ends")).get(name, name)
    if is_kept and not is_framing:
        reading.set(history=last)
    _remember(reading, entry.get("id"), Entry(0, chain, name, last))
    _see_branch(reading, parent, name, last, is_off=is_off)
    if kind == "branch_summary":
        _give_rewind(reading, "", name, parent.last if parent else None)  # of which branch, nothing tells
    reading.extra(entry, fields, f"journal.{kind}", native_id=name or None)


def read_journal(reading: Reading, journal: dict[str, Any]) -> None:
    """Give the journal's own members: a branch that nothing went on after ends at its leaf."""
    if "leaf_id" in journal:
        for left in reading.now("abandoned"):
            parent = next((e for e in reading.now("entries") if e.mark == left.parent), None)
            _give_rewind(reading, parent.last if parent else "", left.name, left.last)
        reading.set(abandoned=())
    reading.extra(journal, _JOURNAL_FIELDS, "journal", native_id="journal")


def _message_of(entry: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the message that an entry stands for."""
    if kind == "message":
        return mapping(entry.get("message"))
    said = entry.get("content") if kind == "system" else entry.get("text")
    return {"role": kind, "content": [{"type": "text", "text": said}]}


def _place(reading: Reading, first_event: int, behind: str | None, *, is_off: bool) -> None:
    """Put the events given since behind an earlier one; mark them as those of a branch that was left."""
    for i in range(first_event, len(reading.events)):
        draft = reading.events[i]
        reading.events[i] = msgspec.structs.replace(draft, is_sidechain=is_off, follows=behind)
        behind = draft.native_id or behind


def _see_branch(reading: Reading, parent: Entry | None, name: str, last: str, *, is_off: bool) -> None:
    """Remember a branch that was left, and give the way back where the conversation went on from its root."""
    abandoned: tuple[Abandoned, ...] = reading.now("abandoned")
    if is_off:
        is_first = parent is None or all(a.name != parent.name for a in abandoned)
        if parent is not None and is_first:
            reading.set(abandoned=(*abandoned, Abandoned(parent.mark, name, last))[-MAX_ABANDONED:])
        elif parent is not None:
            longer = (Abandoned(a.parent, name, last) if a.name == parent.name else a for a in abandoned)
            reading.set(abandoned=tuple(longer))
        return
    left = next((a for a in abandoned if parent is not None and a.parent == parent.mark), None)
    if left is not None and parent is not None:
        _give_rewind(reading, parent.last, left.name, left.last)
        reading.set(abandoned=tuple(a for a in abandoned if a is not left))


def _give_rewind(reading: Reading, to_event: str, left: str, behind: str | None) -> None:
    name = f"rewind:{content_sha256(reading.now('lineage'), to_event, left)}"
    reading.add(Rewind(to_event), native_id=name, follows=behind)


def _remember(reading: Reading, written: object, entry: Entry) -> None:
    if isinstance(written, str) and written:
        named = msgspec.structs.replace(entry, mark=int(content_sha256(written), 16))
        reading.set(entries=(*reading.now("entries"), named)[-MAX_ENTRIES:])


def _find(reading: Reading, written: object) -> Entry | None:
    if not text(written):
        return None
    mark = int(content_sha256(written), 16)
    entries: tuple[Entry, ...] = reading.now("entries")
    return next((e for e in reversed(entries) if e.mark == mark), None)


def _bounded(reading: Reading, at: int | None) -> int | None:
    """Return the time of an entry within the session's own; the save's where it says none."""
    created: int | None = reading.now("created")
    updated: int | None = reading.now("updated")
    if at is None or updated is None:
        return updated if updated is not None else at
    return max(created if created is not None else at, min(at, updated))


def _lasting(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k not in ("id", "parent_id", "created_at")}
