"""What the parser of a pi session remembers, and the entry in hand.

Evidence: format notes: pi.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import text
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import content_sha256, is_storable
from recollect.agents.kit.reading import BaseState, Reading
from recollect.model.events import Role
from recollect.model.payloads import Payload, Rewind
from recollect.model.records import Record

MAX_ENTRIES = 512
"""How far back a jump in the tree is understood."""
MAX_USAGES = 64
_MAX_ID_CHARS = 64

ASIDE, MESSAGE, TURN = 0, 1, 2
"""What an entry weighs when a branch is left behind."""


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One entry of the tree: its id, its parent's, what it weighs, and the event that stood before it."""

    name: str
    parent: str
    weight: int
    before: str = ""


class PiState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """State after an entry. leaf: id of the last one; usages: (entry id, dedupe key) of the last responses."""

    parent_session: str = ""
    is_migrated: bool = False
    leaf: str = ""
    entries: tuple[Entry, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    usages: tuple[tuple[str, str], ...] = ()


class PiReading(Reading[PiState]):
    """An entry in hand. Its id names its events; entries of the oldest files have none and are named by a hash."""

    __slots__ = ("former",)

    def __init__(self, record: Record, state: PiState) -> None:
        super().__init__(record, state)
        own = text(self.value.get("id"))
        is_header = self.value.get("type") == "session"
        self.former = content_name(self.value) if not is_header and (state.is_migrated or not own) else ""
        self.native_id = None if is_header else own or self.former
        self.parent_id = text(self.value.get("parentId")) or None

    def give(self, payload: Payload, role: Role = "system", suffix: str = "") -> None:
        """Give an event of the entry, named by its id and a suffix.

        Old files are rewritten with ids when pi opens them: their events replace those named by a hash.
        """
        replaces = (self.former + suffix, 0) if self.state.is_migrated and self.former != self.native_id else None
        self.add(payload, role, native_id=f"{self.native_id}{suffix}", replaces=replaces)


def content_name(entry: dict[str, Any]) -> str:
    """Return a name for an entry that has no id; the same before and after pi gave it one.

    firstKeptEntryIndex becomes an id in that migration, and hookMessage becomes custom: neither is part of the name.
    """
    message = entry.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    rest = {k: v for k, v in message.items() if k not in ("role", "content")} if isinstance(message, dict) else None
    return f"v1-{content_sha256(entry.get('type'), entry.get('timestamp'), said, rest, entry.get('summary'))}"


def follow(reading: PiReading, weight: int) -> None:
    """Take the entry as the new leaf; give a rewind where it hangs on an entry before the last one.

    The entries are a tree in one file: whoever goes back appends an entry whose parent is older. Only what leaves
    messages behind is a rewind; labels and the like hang anywhere. A parent that is no entry (OpenClaw writes the ids
    of sessions and calls there) says nothing.
    """
    name = text(reading.value.get("id"))
    if not name or len(name) > _MAX_ID_CHARS or not is_storable(name):
        return
    entries, leaf = reading.state.entries, reading.state.leaf
    written = reading.value.get("parentId")
    parent = text(written) if len(text(written)) <= _MAX_ID_CHARS and is_storable(text(written)) else ""
    is_root = "parentId" in reading.value and written is None
    if leaf and parent != leaf and (parent or is_root):
        known = {entry.name: entry for entry in entries}
        if parent in known or is_root:
            left = _left_behind(known, leaf, parent)
            if any(entry.weight for entry in left):
                dropped = sum(entry.weight == TURN for entry in left)
                reading.give(Rewind(left[-1].before or parent, dropped), suffix="/rewind")
    reading.set(leaf=name, entries=(*entries, Entry(name, parent, weight, reading.newest()))[-MAX_ENTRIES:])


def _left_behind(known: dict[str, Entry], leaf: str, target: str) -> list[Entry]:
    """Return the entries above `leaf` that are not above `target`, the newest first."""
    kept = {entry.name for entry in _branch(known, target)}
    return [entry for entry in _branch(known, leaf) if entry.name not in kept]


def _branch(known: dict[str, Entry], name: str) -> list[Entry]:
    found: list[Entry] = []
    while name in known and len(found) <= MAX_ENTRIES:
        found.append(known[name])
        name = known[name].parent
    return found
