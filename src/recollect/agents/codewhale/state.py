"""What the parser of CodeWhale remembers between the records of one document, and how it names things.

Nothing in a document has an id that lasts: journal ids and times are made anew with every save. A thing is named by
what it says; the second equal one is `/2`. A few words ("yes", "continue") are named with the message before them too,
because after a compaction the same words are a new message, while what was kept must not be renamed.
Evidence: reference: recall and MCP, 5.4 and 5.5.
"""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import Marks, content_sha256, count_name, short, times_counted
from recollect.agents.kit.reading import BaseState
from recollect.model.payloads import Json

MAX_ENTRIES = 512
MAX_ABANDONED = 16
MAX_LABEL_CHARS = 100
_FEW_CHARS = 64


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An entry of the journal: its id as a hash, the message it stands for, the names of that message's first and last
    event."""

    mark: int
    chain: str = ""
    name: str = ""
    last: str = ""


class Abandoned(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A branch that was left: the entry it hangs on, the first and the last event of its newest message."""

    parent: int
    name: str
    last: str = ""


class WhaleState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """Carried from record to record of one document.

    lineage: the session that names are made for, the parent's of a fork. created, updated, count, shared: what the
    metadata say of time, messages, and messages copied from the parent. index: messages read. before: hash of the
    message before. seen, seen_again: names counted in the messages, and in the journal. is_compacted: the messages
    begin with a summary. is_past_summary: so does what was read of the journal. first: name of a record's first event.
    ends: names of the first and the last event of each message. history: the event behind which the next one belongs
    that stood before the summary; "" for the beginning.
    """

    lineage: str = ""
    model: str = ""
    created: int | None = None
    updated: int | None = None
    count: int = 0
    shared: int = 0
    index: int = 0
    before: str = ""
    seen: Marks = ()
    seen_again: Marks = ()
    is_again: bool = False
    is_compacted: bool = False
    is_past_summary: bool = False
    first: str = ""
    has_new: bool = False
    ends: tuple[tuple[str, str], ...] = ()
    history: str = ""
    waiting: tuple[Waiting, ...] = ()
    entries: tuple[Entry, ...] = ()
    abandoned: tuple[Abandoned, ...] = ()


Reading = kit.Reading[WhaleState]


def name_thing(reading: Reading, kind: str, *content: Json, said: str = "", label: str = "") -> str | None:
    """Return the name of a thing; None in the journal for one that the messages hold already.

    said: its text, if it is a message. label: stands in the name in place of the hash, readable (a call's id).
    """
    lineage = reading.now("lineage") or reading.state.session
    context = reading.now("before") if 0 < len(said) <= _FEW_CHARS else ""
    base = content_sha256(lineage, kind, said, content, context)
    if reading.now("is_again"):
        counted, seen = count_name(reading.now("seen_again"), base)
        reading.set(seen_again=seen)
        is_known = times_counted(seen, base) <= times_counted(reading.now("seen"), base)
    else:
        counted, seen = count_name(reading.now("seen"), base)
        reading.set(seen=seen)
        is_known = False
    readable = short(label, MAX_LABEL_CHARS)
    name = f"{kind}:{readable}@{counted}" if readable else f"{kind}:{counted}"
    if not reading.now("first"):
        reading.set(first=name)
    if is_known:
        return None
    reading.set(has_new=True)
    return name
