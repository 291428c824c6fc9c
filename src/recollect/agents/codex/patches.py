"""File edits: the `*** Begin Patch` text of apply_patch, and the change lists of patch events."""

from __future__ import annotations

import re
from typing import Literal

from recollect.agents.codex.step import Step
from recollect.agents.kit.drift import note_value
from recollect.model.payloads import FileEdit, Json

BEGIN = "*** Begin Patch"
_HEADER = re.compile(r"\*\*\* (Add|Update|Delete) File: (.*)")
_MOVE = "*** Move to: "
_END = "*** End Patch"
_CHANGES = frozenset(("add", "delete", "update"))


def find_patches(arguments: Json) -> list[str]:
    """Return the patch texts in a call's arguments: `input`, `patch`, or a shell command with a heredoc."""
    values = arguments.values() if isinstance(arguments, dict) else (arguments,)
    found: list[str] = []
    for value in values:
        texts = value if isinstance(value, list) else (value,)
        found.extend(t for t in texts if isinstance(t, str) and BEGIN in t)
    return found


def edits_of_patch(patch: str, call_id: str) -> list[FileEdit]:
    """Return one edit per file of all `*** Begin Patch` blocks in a text, in order.

    An added file has its text in `after`; an updated one has its hunks in `diff`. Of a block cut short, what is there.
    """
    edits: list[FileEdit] = []
    verb = path = ""
    body: list[str] = []
    is_inside = False
    for line in patch.splitlines():
        header = _HEADER.match(line) if is_inside else None
        if header is not None or line.startswith(_END):
            if verb:
                edits.append(_edit(verb, path, body, call_id))
            verb, path = (header[1], header[2].strip()) if header is not None else ("", "")
            body = []
            is_inside = header is not None
        elif BEGIN in line:
            is_inside = True
        elif verb:
            body.append(line)
    if verb:
        edits.append(_edit(verb, path, body, call_id))
    return edits


def _edit(verb: str, path: str, body: list[str], call_id: str) -> FileEdit:
    if verb == "Add":
        after = "".join(line[1:] + "\n" for line in body if line.startswith("+"))
        return FileEdit(path=path, operation="create", after=after, call_id=call_id)
    if verb == "Delete":
        return FileEdit(path=path, operation="delete", call_id=call_id)
    if body and body[0].startswith(_MOVE):
        new_path = body[0].removeprefix(_MOVE).strip()
        return FileEdit(path=path, operation="rename", diff="\n".join(body[1:]), new_path=new_path, call_id=call_id)
    return FileEdit(path=path, operation="modify", diff="\n".join(body), call_id=call_id)


def edits_of_changes(step: Step, changes: Json, call_id: str) -> list[FileEdit]:
    """Return one edit per path of `patch_apply_end.changes` or a FileChange item.

    A change is `{"type": "update", ...}`, in older builds `{"update": {...}}`.
    """
    edits: list[FileEdit] = []
    for path, change in step.mapping(changes, "changes").items():
        body = step.mapping(change, "change")
        kind = body.get("type")
        if not isinstance(kind, str):
            kind = next((k for k in ("add", "delete", "update") if k in body), "")
            body = step.mapping(body.get(kind), "change")
        note_value(step.drift, "change.type", kind, _CHANGES)
        if kind == "add":
            after = step.text(body.get("content"), "content")
            edits.append(FileEdit(path=path, operation="create", after=after, call_id=call_id))
        elif kind == "delete":
            before = step.text(body.get("content"), "content") or None
            edits.append(FileEdit(path=path, operation="delete", before=before, call_id=call_id))
        else:
            diff = step.text(body.get("unified_diff"), "unified_diff")
            new_path = step.text(body.get("move_path"), "move_path")
            operation: Literal["rename", "modify"] = "rename" if new_path else "modify"
            edits.append(FileEdit(path=path, operation=operation, diff=diff, new_path=new_path, call_id=call_id))
    return edits
