"""Calls that wait for their result, and the edits they will have made if it is a good one.

An edit is told by the result, so that a denied or failed one is none; what it changes stands only in the call. The
bodies of long edits are let go: the call's own arguments keep them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.agents.kit.naming import is_encodable, is_storable
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import FileEdit

MAX_CALLS = 64
MAX_EDITS = 32
MAX_EDIT_CHARS = 32_768
MAX_ALL_CHARS = 131_072
_MAX_PATH_CHARS = 4_096


class Waiting(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A call without a result yet."""

    call_id: str
    name: str = ""
    edits: tuple[FileEdit, ...] = ()


def expect(reading: Reading[Any], call_id: str, name: str, edits: Iterable[FileEdit] = ()) -> None:
    """Remember a call until its result comes. The state needs a field `waiting`: a tuple of `Waiting`."""
    reading.set(waiting=with_call(reading.now("waiting"), call_id, name, edits))


def arrived(reading: Reading[Any], call_id: str) -> Waiting:
    """Return the call that a result belongs to and forget it; one without a name where it is not known."""
    call, others = without_call(reading.now("waiting"), call_id)
    if call is None:
        return Waiting(call_id)
    reading.set(waiting=others)
    return call


def give_edits(reading: Reading[Any], edits: Iterable[FileEdit], call_id: str) -> None:
    """Give the edits of a call that went well, one id for each: `edit:<call>:<path>`."""
    counts: dict[str, int] = {}
    for edit in edits:
        count = counts[edit.path] = counts.get(edit.path, 0) + 1
        name = f"edit:{call_id}:{edit.path}"
        payload = msgspec.structs.replace(edit, call_id=call_id)
        reading.add(payload, "tool", native_id=f"{name}/{count}" if count > 1 else name)


def file_edits(call: Waiting, diff: str = "") -> list[FileEdit]:
    """Return the edits of a call that went well. With a diff that the agent wrote down, one edit that has it."""
    if diff:
        path = call.edits[0].path if call.edits else ""
        return [FileEdit(path, diff=diff, call_id=call.call_id)]
    return [msgspec.structs.replace(edit, call_id=call.call_id) for edit in call.edits]


def with_call(
    waiting: tuple[Waiting, ...], call_id: str, name: str, edits: Iterable[FileEdit] = ()
) -> tuple[Waiting, ...]:
    """Return the waiting calls with one more at the end; the oldest are forgotten first."""
    if not call_id or not is_storable(call_id):
        return waiting
    kept = tuple(_bounded(edit) for edit in edits if _has_names(edit))
    others = tuple(call for call in waiting if call.call_id != call_id)
    new = Waiting(call_id, name if is_storable(name) else "", kept[:MAX_EDITS])
    return _within_budget((*others, new)[-MAX_CALLS:])


def without_call(waiting: tuple[Waiting, ...], call_id: str) -> tuple[Waiting | None, tuple[Waiting, ...]]:
    """Return the waiting call of an id, if there is one, and the calls that go on waiting."""
    call = next((call for call in waiting if call.call_id == call_id), None)
    return call, tuple(other for other in waiting if other is not call)


def _has_names(edit: FileEdit) -> bool:
    names = edit.path + edit.new_path
    return len(names) <= _MAX_PATH_CHARS and is_encodable(names)


def _bounded(edit: FileEdit) -> FileEdit:
    is_small = _chars(edit) <= MAX_EDIT_CHARS
    return edit if is_small and is_encodable(f"{edit.before}{edit.after}{edit.diff}") else _without_body(edit)


def _without_body(edit: FileEdit) -> FileEdit:
    return msgspec.structs.replace(edit, before=None, after=None, diff="")


def _chars(edit: FileEdit) -> int:
    return len(edit.path) + len(edit.new_path) + len(edit.before or "") + len(edit.after or "") + len(edit.diff)


def _within_budget(waiting: tuple[Waiting, ...]) -> tuple[Waiting, ...]:
    """Let go of the oldest bodies, then of the oldest edits, until all fit."""
    for trim in (_without_bodies, _without_edits):
        total = sum(_chars(edit) for call in waiting for edit in call.edits)
        for index, call in enumerate(waiting):
            if total <= MAX_ALL_CHARS:
                return waiting
            trimmed = trim(call)
            total -= sum(map(_chars, call.edits)) - sum(map(_chars, trimmed.edits))
            waiting = (*waiting[:index], trimmed, *waiting[index + 1 :])
    return waiting


def _without_bodies(call: Waiting) -> Waiting:
    return msgspec.structs.replace(call, edits=tuple(map(_without_body, call.edits)))


def _without_edits(call: Waiting) -> Waiting:
    return msgspec.structs.replace(call, edits=())
