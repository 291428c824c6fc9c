"""Tools of CodeWhale: their canonical names, and the edits that a call asks for.

An edit stands only in the call's arguments and is given when the result says that it was applied. `apply_patch` has
one text for several files, unified or in the form "*** Update File".
"""

from __future__ import annotations

import re

import msgspec

from recollect.agents.codewhale.state import Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.edits import edits_asked
from recollect.model.payloads import FileEdit
from recollect.model.tools import canonical_tool

_FILE = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: (.+)|\+\+\+ (?:b/)?(\S.*)|--- a/(\S.*))$", re.MULTILINE)
_MAX_FILES = 24
_PATCH_KEYS = ("patch", "diff", "input")


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool; tools of other servers are called `mcp_<server>_<tool>`."""
    return "mcp" if name.startswith("mcp_") else canonical_tool(name)


def edits_of(name: str, arguments: object) -> tuple[FileEdit, ...]:
    """Return the edits that a call asks for. Of a patch, each has the part of the patch for its file."""
    if name != "apply_patch":
        return edits_asked(name, arguments)
    patch = arguments if isinstance(arguments, str) else ""
    for key in _PATCH_KEYS:
        patch = patch or text(mapping(arguments).get(key))
    starts: list[tuple[int, str]] = []
    for found in _FILE.finditer(patch):
        path = next(group for group in found.groups() if group is not None).strip()
        if starts and starts[-1][1] == path:  # `--- a/x` and `+++ b/x`
            continue
        starts.append((found.start(), path))
    if not starts:
        path = text(mapping(arguments).get("path"))
        return (FileEdit(path, diff=patch),) if patch else ()
    ends = [*(at for at, _ in starts[1:]), len(patch)]
    pieces = zip(starts, ends, strict=True)
    return tuple(FileEdit(path, diff=patch[at:end].rstrip("\n")) for (at, path), end in pieces)[:_MAX_FILES]


def give_edits(reading: Reading, call: Waiting, call_id: str, result: str) -> None:
    """Give the edits of a call that was applied; `result` is the name of the result's event."""
    for number, edit in enumerate(call.edits, 1):
        given = msgspec.structs.replace(edit, call_id=call_id)
        name = f"{result.replace('result:', 'edit:', 1)}:{number}"
        reading.add(given, "tool", native_id=name)
