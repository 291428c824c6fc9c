"""Pending tool calls, and the edits that they make if they succeed.

An edit is told by the result, so that a denied or failed one is none; what it changes stands only in the call. The
bodies of long edits are let go: the call's own arguments keep them.
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from recollect.agents.kit.adapter import Reading
from recollect.agents.kit.names import NamingState, is_encodable, is_storable, short_name
from recollect.agents.kit.values import decoded_json, mapping, text
from recollect.model.payloads import FileEdit, Json, ToolCall, ToolResult
from recollect.model.tools import canonical_tool

# Edits as the arguments of tools say them: a replacement, a whole new text, SEARCH/REPLACE blocks, a patch of files.
#
# Tolerant: any decoded JSON gives a tuple of edits, perhaps empty.

Operation = Literal["create", "modify", "delete", "rename"]

_PATHS = (
    "path", "file_path", "filepath", "filePath", "target_file", "filename", "file", "relative_path", "TargetFile",
)  # fmt: skip
_BEFORE = ("old_str", "old_string", "old_text", "oldStr", "oldString", "oldText", "old", "search")
_AFTER = ("new_str", "new_string", "new_text", "newStr", "newString", "newText", "new", "replace")
_WHOLE = ("content", "file_text", "contents", "text", "code_edit", "changes")
_LISTS = ("edits", "edit", "replacements")
_PATCHES = ("patch", "input", "patchText", "patch_text")
_PATCH_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_PATCH_MOVE = "*** Move to: "
_OPERATIONS: dict[str, Operation] = {"Add": "create", "Update": "modify", "Delete": "delete"}
_SEARCH = re.compile(r"(?:<{7}|-{7}) ?SEARCH>?\n")
_DIVIDER = re.compile(r"^={7}$", re.M)
_REPLACE = re.compile(r"^(?:>{7}|\+{7}) ?REPLACE>?$", re.M)
_HEADER = re.compile(r"(?::[^\n]*\n)*-{7}\n")
"""Roo writes the place above the searched text: `:start_line:12`, `-------`."""


def path_of(arguments: Json) -> str:
    """Return the file that a tool's arguments name, "" where they name none."""
    return _first(mapping(arguments), _PATHS)


def edits_asked(name: str, arguments: Json) -> tuple[FileEdit, ...]:
    """Return the edits that a call requests, by its tool's name; none unless the tool edits files."""
    return edits_of(arguments) if canonical_tool(name) == "edit" else ()


def edits_of(arguments: Json, operation: Operation = "modify") -> tuple[FileEdit, ...]:
    """Return the edits that a tool's arguments ask for.

    operation: what the tool does to a file whose text it is given whole, or without any text at all.
    """
    given = mapping(arguments)
    patch = arguments if isinstance(arguments, str) else _first(given, _PATCHES)
    if "*** " in patch:
        return edits_of_patch(patch)
    path = _first(given, _PATHS)
    if operation == "delete":
        return (FileEdit(path, "delete"),) if path else ()
    several = [piece for key in _LISTS for piece in _pieces(given.get(key))]
    if several:
        replacements = (_replacement(_first(piece, _PATHS) or path, piece) for piece in several)
        return tuple(edit for edit in replacements if edit.path or edit.before or edit.after)
    diff = text(given.get("diff"))
    if diff and path:
        return (_of_blocks(path, diff),)
    if any(isinstance(given.get(key), str) for key in (*_BEFORE, *_AFTER)):
        return (_replacement(path, given),)
    whole = next((given[key] for key in _WHOLE if isinstance(given.get(key), str)), None)
    return (FileEdit(path, operation, after=whole),) if path or whole else ()


def edits_of_patch(patch: str) -> tuple[FileEdit, ...]:
    """Return the edits of a patch in the form `*** Update File: path`, one for each file."""
    found: list[FileEdit] = []
    heads = list(_PATCH_FILE.finditer(patch))
    for head, following in zip(heads, [*heads[1:], None], strict=False):
        body = patch[head.end() : following.start() if following else len(patch)].strip("\n")
        body = body.removesuffix("*** End Patch").rstrip("\n")
        path, operation = head[2].strip(), _OPERATIONS[head[1]]
        new_path = ""
        if body.startswith(_PATCH_MOVE):
            line, _, body = body.partition("\n")
            operation, new_path = "rename", line.removeprefix(_PATCH_MOVE).strip()
        if operation == "create":
            added = "\n".join(line.removeprefix("+") for line in body.split("\n"))
            found.append(FileEdit(path, operation, after=added))
        else:
            found.append(FileEdit(path, operation, diff=body, new_path=new_path))
    return tuple(found)


def _pieces(value: Json) -> list[dict[str, Any]]:
    """Return the replacements of a list, or the only one."""
    return [piece for piece in (value if isinstance(value, list) else [value]) if isinstance(piece, dict)]


def _replacement(path: str, edit: dict[str, Any]) -> FileEdit:
    before = next((edit[key] for key in _BEFORE if isinstance(edit.get(key), str)), None)
    after = next((edit[key] for key in _AFTER if isinstance(edit.get(key), str)), None)
    return FileEdit(path, "modify", before, after)


def _of_blocks(path: str, diff: str) -> FileEdit:
    """Return an edit of SEARCH/REPLACE blocks: one block as before and after, several as they are."""
    starts = list(_SEARCH.finditer(diff))
    if len(starts) == 1:
        divider = _DIVIDER.search(diff, starts[0].end())
        end = _REPLACE.search(diff, divider.end()) if divider else None
        if divider and end:
            before = diff[starts[0].end() : divider.start()]
            header = _HEADER.match(before)
            if header:
                before = before[header.end() :]
            after = diff[divider.end() + 1 : end.start()]
            return FileEdit(path, "modify", before.removesuffix("\n"), after.removesuffix("\n"))
    return FileEdit(path, "modify", diff=diff)


def _first(given: dict[str, Any], keys: tuple[str, ...]) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str) and given[key]), "")


def canonical_editor(name: str, arguments: Json) -> str:
    """Return the canonical name of a tool; a file editor that also shows files reads then."""
    found = canonical_tool(name)
    return "read" if found == "edit" and mapping(arguments).get("command") == "view" else found


def insertion_of(arguments: Json) -> tuple[FileEdit, ...]:
    """Return an edit that puts text between the lines of a file, as added lines without a place."""
    given = mapping(arguments)
    path = _first(given, _PATHS)
    added = _first(given, (*_WHOLE, *_AFTER))
    if not path:
        return ()
    return (FileEdit(path, diff="\n".join("+" + line for line in added.split("\n")) if added else ""),)


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
    """Emit the edits of a call that went well, one id for each: `edit:<call>:<path>`."""
    counts: dict[str, int] = {}
    for edit in edits:
        count = counts[edit.path] = counts.get(edit.path, 0) + 1
        name = f"edit:{call_id}:{edit.path}"
        reading.add(msgspec.structs.replace(edit, call_id=call_id), native_id=f"{name}/{count}" if count > 1 else name)


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
    """Return the waiting call with an id, if any, and the calls that continue waiting."""
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


# A call, later its result, and between them the edits that the call asks for: what most transcripts have alike.


class TurnState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """The state of a parser whose calls wait for their results."""

    waiting: tuple[Waiting, ...] = ()


def decoded_arguments(arguments: Json) -> Json:
    """Return a call's arguments decoded if they are JSON in a text; any other text unchanged."""
    if not isinstance(arguments, str):
        return arguments
    return decoded_json(arguments, arguments) if arguments.strip() else None


def give_call(
    reading: Reading[Any], call: ToolCall, where: str | None, edits: Iterable[FileEdit] | None = None
) -> None:
    """Emit a call and remember it. where: names it if it has no id. edits: else those that its arguments ask for."""
    reading.add(call, native_id=_name("call", call.call_id, where))
    asked = edits if edits is not None else edits_of(call.arguments) if call.canonical == "edit" else ()
    expect(reading, call.call_id, call.name, asked)


def give_result(
    reading: Reading[Any], result: ToolResult, where: str | None, edits: Iterable[FileEdit] | None = None
) -> None:
    """Emit a result, with the name of its call, and the edits unless it failed. edits: else those of the call."""
    call = arrived(reading, result.call_id)
    if not result.name and call.name:
        result = msgspec.structs.replace(result, name=call.name)
    reading.add(result, native_id=_name("result", result.call_id, where))
    if result.ok is not False:
        give_edits(reading, call.edits if edits is None else edits, result.call_id)


def _name(kind: str, call_id: str, where: str | None) -> str | None:
    if call_id:
        return f"{kind}:{short_name(call_id)}"
    return f"{where}/{kind}" if where else None
