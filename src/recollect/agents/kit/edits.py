"""Edits as the arguments of tools say them: a replacement, a whole new text, SEARCH/REPLACE blocks, a patch of files.

Tolerant: any decoded JSON gives a tuple of edits, perhaps empty.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from recollect.agents.kit.access import mapping, text
from recollect.model.payloads import FileEdit, Json
from recollect.model.tools import canonical_tool

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
    """Return the edits that a call asks for, told by its tool's name; none unless the tool edits files."""
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
    """Return the replacements of a list, or the one that stands there alone."""
    return [piece for piece in (value if isinstance(value, list) else [value]) if isinstance(piece, dict)]


def _replacement(path: str, edit: dict[str, Any]) -> FileEdit:
    before = next((edit[key] for key in _BEFORE if isinstance(edit.get(key), str)), None)
    after = next((edit[key] for key in _AFTER if isinstance(edit.get(key), str)), None)
    return FileEdit(path, "modify", before, after)


def _of_blocks(path: str, diff: str) -> FileEdit:
    """Return an edit of SEARCH/REPLACE blocks: one block as before and after, several as they stand."""
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


def insertion_of(arguments: Json) -> tuple[FileEdit, ...]:
    """Return an edit that puts text between the lines of a file, as added lines without a place."""
    given = mapping(arguments)
    path = _first(given, _PATHS)
    added = _first(given, (*_WHOLE, *_AFTER))
    if not path:
        return ()
    return (FileEdit(path, diff="\n".join("+" + line for line in added.split("\n")) if added else ""),)
