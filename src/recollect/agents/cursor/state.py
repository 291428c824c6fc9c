"""What the parser of Cursor remembers from record to record, and how it names what has no id."""

from __future__ import annotations

import msgspec

from recollect.agents.cursor.decode import digest
from recollect.agents.kit.naming import NamingState, is_encodable, numbered
from recollect.agents.kit.reading import MAX_NAME_CHARS, Reading
from recollect.model.payloads import Json, Lifecycle

MAX_MESSAGES = 4_096
MAX_HUMANS = 1_024
MAX_EDITS = 16
_MAX_PATH_CHARS = 1_000
_MAX_EDIT_BYTES = 200_000
"""Of all texts of edits whose result is awaited; what is larger is remembered by its path."""


class Human(msgspec.Struct, frozen=True, gc=False):
    """A message of the person: the id by which the store lists it, that of its event, its time, the event before it."""

    id: str
    event: str
    ts: int | None = None
    before: str = ""


class Edit(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A change of a file as a call asked for it; it is told when the result says that it was made."""

    call: str
    path: str
    operation: str = "modify"
    before: str | None = None
    after: str | None = None
    diff: str = ""


class Called(msgspec.Struct, frozen=True, gc=False):
    """A call whose result may come: its key, and the tool's name."""

    key: str
    name: str


class CursorState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """What the next record needs to know.

    humans: messages of the person, to find those left behind.
    messages, root: ids of message blobs, and the newest list of them. calls, edits: what awaits its result.
    is_summed_up: a summary was given since the newest list.
    """

    parent: str = ""
    cwd: str = ""
    is_summed_up: bool = False
    humans: tuple[Human, ...] = ()
    messages: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    calls: tuple[Called, ...] = ()
    edits: tuple[Edit, ...] = ()


Step = Reading[CursorState]


def named(step: Step, kind: str, content: Json) -> str:
    """Return a name made of content: `say:<16 hex>`, and `…/2` for the second that says the same.

    The command line's store and the transcripts have no ids; equal words get equal names in both.
    """
    return numbered(step, f"{kind}:{digest(content)}")


def short(name: str) -> str:
    """Return an id that is short enough to be one, and text that can be stored."""
    return name if len(name) <= MAX_NAME_CHARS and is_encodable(name) else f"h-{digest(name)}"


def give_cwd(step: Step, path: str) -> None:
    """Give the folder that the session works in, where it is another than before."""
    if path != step.now("cwd"):
        step.set(cwd=path if len(path) <= _MAX_PATH_CHARS and is_encodable(path) else short(path))
        step.add(Lifecycle("cwd", cwd=path), native_id=f"cwd:{digest(path)}")


def remember_call(step: Step, key: str, name: str, edits: list[Edit]) -> None:
    """Remember a call until its result comes, and what it would change."""
    calls: tuple[Called, ...] = step.now("calls")
    step.set(calls=(*calls, Called(key, short(name)))[-MAX_EDITS * 4 :])
    if edits:
        waiting: tuple[Edit, ...] = step.now("edits")
        step.set(edits=_bounded((*waiting, *edits)))


def called(step: Step, key: str) -> str:
    """Return the name of the tool that a call asked for, if it is remembered."""
    calls: tuple[Called, ...] = step.now("calls")
    return next((c.name for c in reversed(calls) if c.key == key), "")


def take_edits(step: Step, key: str) -> tuple[Edit, ...]:
    """Return what a call would change, and forget it."""
    waiting: tuple[Edit, ...] = step.now("edits")
    found = tuple(e for e in waiting if e.call == key)
    if found:
        step.set(edits=tuple(e for e in waiting if e.call != key))
    return found


def _bounded(edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
    kept: list[Edit] = []
    budget = _MAX_EDIT_BYTES
    for edit in reversed(edits[-MAX_EDITS:]):
        texts = "".join(filter(None, (edit.before, edit.after, edit.diff)))
        size = len(texts.encode("utf-8", "replace"))
        path = edit.path if len(edit.path) <= _MAX_PATH_CHARS and is_encodable(edit.path) else short(edit.path)
        if size > budget or not is_encodable(texts):
            kept.append(Edit(edit.call, path, edit.operation))
        else:
            budget -= size
            kept.append(msgspec.structs.replace(edit, path=path))
    return tuple(reversed(kept))
