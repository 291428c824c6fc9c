"""Tools of CodeWhale: their canonical names, and the edits that a call asks for.

An edit stands only in the call's arguments and is given when the result says that it was applied. `apply_patch` has
one text for several files, unified or in the form "*** Update File".
"""

from __future__ import annotations

import re

from recollect.agents.codewhale.state import Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.calls import MAX_CALL_CHARS, MAX_CALLS, Call, Edit, edits_in
from recollect.agents.kit.naming import is_encodable, is_storable
from recollect.model.payloads import FileEdit
from recollect.model.tools import canonical_tool

_FILE = re.compile(r"^(?:\*\*\* (?:Update|Add|Delete) File: (.+)|\+\+\+ (?:b/)?(\S.*)|--- a/(\S.*))$", re.MULTILINE)
_MAX_FILES = 24
_PATCH_KEYS = ("patch", "diff", "input")


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool; tools of other servers are called `mcp_<server>_<tool>`."""
    return "mcp" if name.startswith("mcp_") else canonical_tool(name)


def edits_of(name: str, arguments: object) -> tuple[Edit, ...]:
    """Return the edits that a call asks for. Of a patch, `after` is the part of the patch for that file."""
    if name != "apply_patch":
        return edits_in(name, arguments)
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
        return (Edit(path, None, patch),) if patch else ()
    ends = [*(at for at, _ in starts[1:]), len(patch)]
    pieces = zip(starts, ends, strict=True)
    return tuple(Edit(path, None, patch[at:end].rstrip("\n")) for (at, path), end in pieces)[:_MAX_FILES]


def remember(calls: tuple[Call, ...], call_id: str, name: str, edits: tuple[Edit, ...]) -> tuple[Call, ...]:
    """Return the waiting calls with one more; of long edits only the paths are kept."""
    if not call_id or not is_storable(name):
        return calls
    size = sum(len(e.path) + len(e.before or "") + len(e.after or "") for e in edits)
    if size > MAX_CALL_CHARS:
        edits = tuple(Edit(path) for path in dict.fromkeys(e.path for e in edits) if is_storable(path))
    elif not is_encodable("".join(f"{e.path}{e.before}{e.after}" for e in edits)):
        edits = ()
    return (*calls, Call(call_id, name, edits))[-MAX_CALLS:]


def give_edits(reading: Reading, call: Call, call_id: str, result: str) -> None:
    """Give the edits of a call that was applied; `result` is the name of the result's event."""
    for number, edit in enumerate(call.edits, 1):
        if call.name == "apply_patch":
            given = FileEdit(edit.path, "modify", diff=edit.after or "", call_id=call_id)
        else:
            given = FileEdit(edit.path, "modify", edit.before, edit.after, call_id=call_id)
        name = f"{result.replace('result:', 'edit:', 1)}:{number}"
        reading.add(given, "tool", native_id=name)
