"""What a sink is, and what goes into it. An own sink: docs/distill.md, "Sinks"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from recollect.model.digests import Digest
from recollect.model.events import Event
from recollect.model.nodes import Binding, Conversation, Decision, Episode, Node
from recollect.model.signals import Signal


class Retracted(msgspec.Struct, frozen=True, tag_field="node", tag="retracted"):
    """Something that was given before and holds no longer: its evidence changed."""

    id: str
    session_uid: str


Item = Event | Node | Signal | Digest | Retracted
"""What a sink takes. As JSON: events have `kind` and `payload`, nodes `node`, signals `signal`, digests `flavor`."""

Offsets = Mapping[str, int]
"""How far each input was read when something was written, by a name that the writer chooses."""


class Sink(Protocol):
    """Takes items and, in the same step, how far the inputs were read that gave them.

    A writer asks `offsets` first, goes on there, and calls `write`; killed at any instruction, nothing is lost or
    doubled.
    """

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new sink."""
        ...

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Keep all items and the offsets, or nothing of both. Raises StoreError."""
        ...

    def close(self) -> None:
        """Give the sink free."""
        ...


def kind_of_item(item: Item) -> str:
    """Return "event", "digest", "retracted", or the kind of a node or signal."""
    if isinstance(item, Event):
        return "event"
    if isinstance(item, Digest):
        return "digest"
    return str(item.__struct_config__.tag)


def id_of_item(item: Item) -> str:
    """Return the id that stays the same when the same thing is given again."""
    if isinstance(item, Conversation | Decision | Episode | Binding | Retracted):
        return item.id
    if isinstance(item, Event):
        return f"{item.session_uid}/{item.event_id}/{item.part}"
    if isinstance(item, Digest):
        return item.session_uid
    places = ";".join(f"{e.event_id}/{e.part}" for e in item.evidence)
    return f"{item.session_uid}/{kind_of_item(item)}/{places}"
