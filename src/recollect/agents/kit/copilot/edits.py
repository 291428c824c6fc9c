"""The edits that a Copilot tool call makes, told from its arguments.

The same tools have one set of names in the CLI (`path`, `old_str`) and another in VS Code (`filePath`, `oldString`).
"""

from __future__ import annotations

import json

import msgspec

from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.edits import edits_of, edits_of_patch, path_of
from recollect.model.payloads import FileEdit, Json

_CREATES = frozenset(("create", "create_file", "write_file"))
_REPLACES = frozenset(("edit", "str_replace", "edit_file", "replace_string_in_file", "insert"))
_CODE = frozenset(("insert_edit_into_file", "edit_notebook_file"))


def arguments_of(value: Json) -> Json:
    """Return a call's arguments decoded: some builds write them as JSON text, custom tools as plain text."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def edits_of_call(name: str, arguments: Json, call_id: str) -> tuple[FileEdit, ...]:
    """Return the edits that a call makes if it succeeds; none for tools that change no file by themselves."""
    return tuple(msgspec.structs.replace(e, call_id=call_id) for e in _edits(name.lower(), arguments))


def _edits(tool: str, arguments: Json) -> tuple[FileEdit, ...]:
    told = mapping(arguments)
    if tool == "apply_patch":
        patch = arguments if isinstance(arguments, str) else text(told.get("input")) or text(told.get("patch"))
        return edits_of_patch(patch)
    if tool == "str_replace_editor":
        tool = text(told.get("command"))
    if tool == "multi_replace_string_in_file":
        return tuple(edit for one in items(told.get("replacements")) for edit in edits_of(mapping(one)))
    if tool in _CREATES:
        return edits_of(told, "create")
    if tool in _REPLACES:
        return edits_of(told)
    if tool in _CODE and path_of(told):
        code = told.get("code", told.get("newCode"))
        return (FileEdit(path_of(told), after=code if isinstance(code, str) else None),)
    return ()
