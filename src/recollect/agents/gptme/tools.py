"""What gptme's tools were asked to do, and how they ended."""

from __future__ import annotations

import re

from recollect.agents.gptme.blocks import Call
from recollect.agents.kit.values import mapping, text
from recollect.model.payloads import FileEdit, Json

_CONFLICT = re.compile(r"<<<<<<< ORIGINAL\n(.*?)\n?=======\n(.*?)\n?>>>>>>> UPDATED", re.DOTALL)
_EXIT = re.compile(r"(?:[Rr]eturn|[Ee]xit) code: ?(-?\d{1,9})\b")
_END_CHARS = 400
"""How a command ended stands at the end of its result, or in its first lines."""
_FAILURES = ("Error", "Failed", "Patch failed", "Aborted", "❌")
_WRITERS = frozenset(("save", "append", "patch", "morph"))


def arguments_of(call: Call) -> Json:
    """Return a call's arguments by name."""
    if call.arguments is not None:
        return call.arguments
    if call.tool in _WRITERS:
        return {"path": call.args, "patch" if call.tool == "patch" else "content": call.body}
    if call.tool == "shell":
        return {"command": call.body}
    return {"args": call.args, "code": call.body} if call.args else {"code": call.body}


def edits_of_call(call: Call) -> tuple[FileEdit, ...]:
    """Return what a call will have changed if it goes well. Whether `save` makes a new file is not said."""
    if call.tool not in _WRITERS:
        return ()
    given = mapping(call.arguments)
    path = call.args or text(given.get("path"))
    body = call.body or text(given.get("patch")) or text(given.get("content"))
    if call.tool == "patch":
        found = _CONFLICT.findall(body)
        return tuple(FileEdit(path, "modify", before, after) for before, after in found) or (FileEdit(path, diff=body),)
    if call.tool == "save":
        return (FileEdit(path, "modify", after=body),)
    return (FileEdit(path, diff="\n".join("+" + line for line in body.split("\n"))),)


def exit_code_of(result: str) -> int | None:
    """Return the exit code that a result states."""
    found = _EXIT.search(result[-_END_CHARS:]) or _EXIT.search(result[:_END_CHARS])
    return int(found[1]) if found else None


def has_failed(result: str) -> bool:
    """Say whether a result begins as those of failures do."""
    return result.lstrip().startswith(_FAILURES)
