"""Tools as Cursor's stores write them: names, arguments, outcomes, and the files that a call changes.

The editor names its tools `edit_file_v2`, the command line and the transcripts `Write`; arguments differ alike.
Evidence: format notes: Cursor, "Edits" and "Traps".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from recollect.agents.cursor.decode import decoded, digest, pruned, take_images
from recollect.agents.cursor.state import Edit, Step, short
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import content_parts, content_text
from recollect.model.payloads import FileEdit, Json, Part
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_EDITS = frozenset(
    (
        "edit_file", "search_replace", "write", "write_file", "create_file", "strreplace", "multiedit", "editnotebook",
        "edit_notebook", "apply_patch", "applypatch", "reapply", "delete", "delete_file",
    )
)  # fmt: skip
_DELETES = frozenset(("delete", "delete_file"))
_PATHS = (
    "path", "file_path", "target_file", "targetFile", "relativeWorkspacePath", "relative_workspace_path",
    "target_notebook", "notebook_path",
)  # fmt: skip
_BEFORE = ("old_string", "oldString", "old_str")
_AFTER = ("new_string", "newString", "new_str", "streamContent", "contents", "content", "file_text", "code_edit")
_PATCHES = ("patch", "input", "diff")
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_PATCH_OPERATIONS = {"Add": "create", "Update": "modify", "Delete": "delete"}
_BODIES = ("output", "contents", "content", "text", "result", "stdout", "fileContents", "message")
_EXITS = ("exitCodeV2", "exitCode", "exit_code")
_EXIT_LINE = re.compile(r"(?:Error: )?Exit code: (-?\d{1,9})\b")
Operation = Literal["create", "modify", "delete", "rename", "checkpoint"]
_OPERATIONS: dict[str, Operation] = {"create": "create", "modify": "modify", "delete": "delete"}


class Body(NamedTuple):
    """What a tool gave back: its text, what else it says, images, and the exit code that it states."""

    text: str = ""
    structured: Json = None
    parts: tuple[Part, ...] = ()
    exit_code: int | None = None


def canonical(name: str) -> str:
    """Return the canonical name of a tool; the editor's tools of MCP servers are `mcp_server_tool`."""
    plain = name.removesuffix("_v2")
    if plain.lower().startswith(("mcp_", "mcp-")) or plain in ("CallMcpTool", "mcp"):
        return "mcp"
    return canonical_tool(plain)


def call_key(call_id: str) -> str:
    """Return what names a call in every store: `call_…`, without the item's id that follows on a second line."""
    return short(call_id.partition("\n")[0].strip())


def edits_of(key: str, name: str, arguments: Json) -> list[Edit]:
    """Return the changes that a call asks for; none where the tool changes no file."""
    plain = name.removesuffix("_v2").lower()
    if plain not in _EDITS:
        return []
    values = mapping(arguments)
    patch = arguments if isinstance(arguments, str) else _first(values, _PATCHES) or ""
    if "*** Begin Patch" in patch:
        return list(_patched(key, patch))
    path = _first(values, _PATHS) or ""
    changes = [_change(key, path, mapping(edit)) for edit in items(values.get("edits")) if isinstance(edit, dict)]
    if plain in _DELETES:
        changes = [Edit(key, path, "delete")]
    return changes or ([_change(key, path, values)] if path else [])


def _change(key: str, path: str, values: dict[str, Any]) -> Edit:
    return Edit(key, path, before=_first(values, _BEFORE), after=_first(values, _AFTER))


def _patched(key: str, patch: str) -> Iterator[Edit]:
    found = list(_PATCHED.finditer(patch))
    for this, following in zip_longest(found, found[1:]):
        body = patch[this.end() : following.start() if following else None]
        yield Edit(key, this[2], _PATCH_OPERATIONS[this[1]], diff=body.partition("*** End Patch")[0].strip("\n"))


def _first(values: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((values[n] for n in names if isinstance(values.get(n), str)), None)


def give_edits(step: Step, edits: tuple[Edit, ...] | list[Edit], *, result: Json, call_id: str) -> None:
    """Give the changes that a call made. Where the call names a file only, the result may hold the hunks."""
    facts = mapping(result)
    seen: set[str] = set()
    for edit in edits:
        diff = edit.diff
        if not diff and edit.before is None and edit.after is None:
            diff = _hunks(facts)
        name = f"edit:{edit.call}:{edit.path if len(edit.path) <= 100 else digest(edit.path)}"
        if name in seen:
            name = f"{name}:{len(seen)}"
        seen.add(name)
        step.add(
            FileEdit(
                edit.path,
                _OPERATIONS.get(edit.operation, "modify"),
                edit.before if not diff else None,
                edit.after if not diff else None,
                diff=diff,
                call_id=call_id,
                backup=text(facts.get("beforeContentId")),
            ),
            "tool",
            native_id=name,
        )


def _hunks(facts: dict[str, Any]) -> str:
    stated = _first(facts, ("diffString", "unifiedDiff"))
    if stated:
        return stated
    chunks = items(mapping(facts.get("diff")).get("chunks"))
    return "\n".join(filter(None, (text(mapping(c).get("diffString")) for c in chunks)))


def body_of(value: Json) -> Body:
    """Return what a tool gave back, written as JSON (also inside a text), as blocks or as plain text."""
    result = decoded(value)
    if isinstance(result, bytes):
        return Body()
    if isinstance(result, str):
        return Body(result, exit_code=_exit_line(result))
    parts: list[Part] = []
    if isinstance(result, list):
        blocks, _ = content_parts(result)
        return Body(content_text(take_images(result, parts)), parts=(*blocks, *parts))
    if not isinstance(result, dict):
        return Body("" if result is None else flatten(result))
    clean = take_images(result, parts)
    main = next((n for n in _BODIES if isinstance(clean.get(n), str) and clean[n]), None)
    stated = next((whole(clean[n]) for n in _EXITS if clean.get(n) is not None), None)
    if main is None:
        content = clean.get("content")
        body = content_text(content) if isinstance(content, list) else flatten(pruned(clean))
        return Body(body, None, tuple(parts), stated)
    told = (main, *_EXITS)
    rest = {k: v for k, v in clean.items() if k not in told and not (isinstance(v, str) and v in clean[main])}
    return Body(clean[main], pruned(rest), tuple(parts), stated if stated is not None else _exit_line(clean[main]))


def _exit_line(said: str) -> int | None:
    found = _EXIT_LINE.match(said)
    return int(found[1]) if found else None
