"""Shapes of settings that several agents share: an MCP entry of the usual form, hooks as Claude Code writes them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from recollect.agents.installing.contract import Command, ConfigFile, FilePlace, Given, HookEvent, Server
from recollect.agents.installing.editing.edits import AppendItem, Edit, Format, SetKey
from recollect.model.own import SERVER


def stdio_entry(server: Server, **more: Any) -> dict[str, Any]:
    """Return `{"command", "args", "env"?}` and what else an agent wants."""
    env = {"env": dict(server.env)} if server.env else {}
    return {"command": server.command, "args": list(server.args), **env, **more}


def mcp_file(
    place: FilePlace,
    form: Format = "json",
    *,
    under: tuple[str, ...] = ("mcpServers",),
    entry: Callable[[Server], Mapping[str, Any]] = stdio_entry,
) -> ConfigFile:
    """Return the file that lists servers by name below `under`, with ours among them."""

    def edits(given: Given) -> tuple[Edit, ...]:
        return (SetKey((*under, SERVER), dict(entry(given.server))),)

    return ConfigFile(place, form, edits)


def claude_hook(command: Command, given: Given, **more: Any) -> dict[str, Any]:
    """Return one handler in Claude Code's form: a shell line, on Windows program and `args` apart (no shell)."""
    if given.platform == "windows":
        return {"type": "command", "command": command.argv[0], "args": list(command.argv[1:]), **more}
    return {"type": "command", "command": command.line, **more}


def claude_like_hooks(
    events: tuple[HookEvent, ...],
    handler: Callable[[HookEvent, Given], Mapping[str, Any]],
    *,
    under: tuple[str, ...] = ("hooks",),
) -> Callable[[Given], tuple[Edit, ...]]:
    """Return the edits of `{"hooks": {EVENT: [{"matcher"?, "hooks": [handler]}]}}`, one group for each event."""

    def edits(given: Given) -> tuple[Edit, ...]:
        made: list[Edit] = []
        for event in events:
            matcher = {"matcher": event.matcher} if event.matcher else {}
            made.append(AppendItem((*under, event.event), {**matcher, "hooks": [dict(handler(event, given))]}))
        return tuple(made)

    return edits


def hook_text(command: Command, given: Given) -> str:
    """Return the command as one text, for agents that hand it to the system's shell (on Windows no POSIX one)."""
    return subprocess.list2cmdline(command.argv) if given.platform == "windows" else command.line


def powershell_text(command: Command) -> str:
    """Return the command as one text for PowerShell, every word in single quotes."""
    return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in command.argv)


def flat_hooks(
    events: tuple[HookEvent, ...],
    handler: Callable[[HookEvent, Given], Mapping[str, Any]],
    *,
    under: tuple[str, ...] = ("hooks",),
) -> Callable[[Given], tuple[Edit, ...]]:
    """Return the edits of `{"hooks": {EVENT: [handler]}}`, for agents without groups."""

    def edits(given: Given) -> tuple[Edit, ...]:
        return tuple(AppendItem((*under, event.event), dict(handler(event, given))) for event in events)

    return edits


def hooks_document(edits: Callable[[Given], tuple[Edit, ...]], **frame: Any) -> Callable[[Given], str]:
    """Return the text of a JSON file of our own with these hooks, for agents that read a folder of such files.

    frame: what stands before the hooks (`version=1`). The edits may only append.
    """

    def text(given: Given) -> str:
        document: dict[str, Any] = dict(frame)
        for edit in edits(given):
            place = document
            for key in edit.path[:-1]:
                place = place.setdefault(key, {})
            place.setdefault(edit.path[-1], []).append(edit.value)
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    return text
