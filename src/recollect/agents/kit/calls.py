"""Tool calls that wait for their result: the tool's name, and the edits that the arguments ask for.

Many agents write an edit's text only into the call, and whether it was applied only into the result. A parser
remembers the call in its state (`remember_call`), takes it when the result comes (`take_call`), and gives the edits.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, text
from recollect.model.payloads import FileEdit
from recollect.model.tools import canonical_tool

MAX_CALLS = 32
"""Calls without a result yet; with `MAX_CALL_CHARS` each they stay well below a state's 1 MiB."""
MAX_CALL_CHARS = 4096
"""Texts of edits longer than this are not remembered, only their paths; the call itself holds them anyway."""
_MAX_EDITS = 24
_MAX_NAME_CHARS = 200

_PATHS = ("path", "file_path", "filePath", "target_file", "filename", "file")
_BEFORE = ("oldText", "old_string", "oldString", "old_str", "old", "search")
_AFTER = ("newText", "new_string", "newString", "new_str", "new", "replace")
_WHOLE = ("content", "file_text", "contents")
_LISTS = ("edits", "edit")


class Edit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One replacement that a call asks for; `before` None: the whole file is written."""

    path: str
    before: str | None = None
    after: str | None = None


class Call(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tool call whose result has not come yet."""

    call_id: str
    name: str
    edits: tuple[Edit, ...] = ()


def edits_in(name: str, arguments: object) -> tuple[Edit, ...]:
    """Return the edits that a call of an editing tool asks for, by the names that agents use for such arguments."""
    if canonical_tool(name) != "edit" or not isinstance(arguments, dict):
        return ()
    path = _first(arguments, _PATHS) or ""
    pieces: list[Any] = []
    for key in _LISTS:
        value = arguments.get(key)
        pieces += value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    found = [_replacement(mapping(piece), path) for piece in pieces] or [_replacement(arguments, path)]
    kept = [edit for edit in found if edit.path or edit.before or edit.after]
    whole = _first(arguments, _WHOLE)
    if whole is not None and all(edit.before is None and edit.after is None for edit in kept):
        return (Edit(path, None, whole),)
    return tuple(kept[:_MAX_EDITS])


def remember_call(calls: tuple[Call, ...], call_id: str, name: str, arguments: object) -> tuple[Call, ...]:
    """Return the waiting calls with one more at the end; the oldest are forgotten first."""
    if not call_id or not is_storable(call_id) or not is_storable(name):
        return calls
    edits = edits_in(name, arguments)
    size = sum(len(edit.path) + len(edit.before or "") + len(edit.after or "") for edit in edits)
    if size > MAX_CALL_CHARS:
        paths = dict.fromkeys(edit.path for edit in edits)
        edits = tuple(Edit(path) for path in paths if is_storable(path))
    elif not all(_encodes(f"{edit.path}{edit.before}{edit.after}") for edit in edits):
        edits = ()
    return (*calls, Call(call_id, name, edits))[-MAX_CALLS:]


def take_call(calls: tuple[Call, ...], call_id: str) -> tuple[Call | None, tuple[Call, ...]]:
    """Return the newest waiting call of an id, if there is one, and the calls that go on waiting."""
    for i in range(len(calls) - 1, -1, -1):
        if calls[i].call_id == call_id:
            return calls[i], calls[:i] + calls[i + 1 :]
    return None, calls


def file_edits(call: Call, diff: str = "") -> list[FileEdit]:
    """Return the edits of a call that was applied. With a diff that the agent wrote down, one edit that has it."""
    if diff:
        path = call.edits[0].path if call.edits else ""
        return [FileEdit(path, diff=diff, call_id=call.call_id)]
    return [FileEdit(edit.path, "modify", edit.before, edit.after, call_id=call.call_id) for edit in call.edits]


def is_storable(name: str) -> bool:
    """Say whether a name may go into a state: short enough, and text that can be encoded."""
    return len(name) <= _MAX_NAME_CHARS and _encodes(name)


def _encodes(value: str) -> bool:
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _first(value: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value[name] for name in names if isinstance(value.get(name), str)), None)


def _replacement(value: dict[str, Any], path: str) -> Edit:
    return Edit(text(_first(value, _PATHS)) or path, _first(value, _BEFORE), _first(value, _AFTER))
