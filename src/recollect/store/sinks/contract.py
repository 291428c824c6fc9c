"""What a sink is, and what goes into it. An own sink: docs/distill.md, "Sinks"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from recollect.errors import StoreError
from recollect.model.events import Event
from recollect.model.insights.digests import Digest
from recollect.model.insights.nodes import Binding, Conversation, Decision, Episode, Node
from recollect.model.insights.signals import Signal
from recollect.visible import complete, safe_json


class Retracted(msgspec.Struct, frozen=True, tag_field="node", tag="retracted"):
    """Something that was given before and holds no longer: its evidence changed."""

    id: str
    session_uid: str


Item = Event | Node | Signal | Digest | Retracted
"""What a sink takes. As JSON: events have `kind` and `payload`, nodes `node`, signals `signal`, digests `flavor`."""

Offsets = Mapping[str, int]
"""How far each input was read when something was written, by a name that the writer chooses."""


Given = tuple[str, bytes]
"""What a sink holds of one item: its session, and the fingerprint of its JSON."""


Group = Literal["nodes", "signals", "digests"]
"""What is asked for together; a run says nothing about the groups that it was not asked for."""


class Sink(Protocol):
    """Takes items and, in the same step, how far the inputs were read that gave them.

    A writer asks `offsets` first, goes on there, and calls `write`; killed at any instruction, nothing is lost or
    doubled.
    """

    def offsets(self) -> dict[str, int]:
        """Return what the last whole `write` said, {} for a new sink."""
        ...

    def given(self) -> dict[str, Given]:
        """Return what was written and not retracted, by `id_of_item`, events left out: who writes again gives only
        what is new or changed."""
        ...

    def write(self, items: Sequence[Item], offsets: Offsets) -> None:
        """Keep all items and the offsets, or nothing of both. Raises StoreError."""
        ...

    def close(self) -> None:
        """Give the sink free."""
        ...


def refuse_folder(path: Path) -> None:
    """Raise StoreError where a file is wanted and a folder stands."""
    if path.is_dir():
        raise StoreError(f"{path} is a folder", hint="name a file in it")


def encode_item(item: object) -> bytes:
    """Return the JSON of an item as every sink writes it: the same for equal items, with every field."""
    return safe_json(msgspec.json.encode(complete(item, is_sorted=True)))


def fingerprint(data: bytes) -> bytes:
    """Return 16 bytes that tell two JSON texts apart."""
    import hashlib  # brings OpenSSL, which who only reads does not need

    return hashlib.blake2b(data, digest_size=16).digest()


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
    return _signal_id(item.session_uid, kind_of_item(item), [(e.event_id, e.part) for e in item.evidence])


def id_of_json(value: Mapping[str, Any]) -> str | None:
    """Return the id of an item decoded from JSON, as `id_of_item` gives it; None for an event or a stranger."""
    uid = value.get("session_uid")
    if not isinstance(uid, str):
        return None
    if "node" in value:
        return str(value.get("id", ""))
    if "signal" in value:
        places = [(e["event_id"], e["part"]) for e in value.get("evidence", ())]
        return _signal_id(uid, str(value["signal"]), places)
    return uid if "flavor" in value else None


def group_of_id(name: str, session_uid: str) -> Group:
    """Return what an id of `id_of_item` or `id_of_json` is of, events left out."""
    if name == session_uid:
        return "digests"
    return "signals" if name.startswith(f"{session_uid}/") else "nodes"


def _signal_id(uid: str, kind: str, places: Iterable[tuple[str, int]]) -> str:
    return f"{uid}/{kind}/" + ";".join(f"{event_id}/{part}" for event_id, part in places)
