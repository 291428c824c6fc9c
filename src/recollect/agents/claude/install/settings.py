"""Claude Code: what `recollect setup` writes.

Settings, hooks and skills are below its configuration folder; the servers of the user are in `.claude.json` beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.agents.installing.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    Given,
    HookEvent,
    Hooks,
    Install,
    Mcp,
    McpCommand,
    NativeMemory,
    OwnFile,
    Plugins,
    Server,
    Source,
    Switch,
)
from recollect.agents.installing.shapes import claude_hook, claude_like_hooks, mcp_file, stdio_entry
from recollect.agents.installing.skills import NAME, skill_text
from recollect.model.own import SERVER

_FOLDER = Folder(("$CLAUDE_CONFIG_DIR", "~/.claude"))
_SETTINGS = FilePlace(_FOLDER, ("settings.json",))
TIMEOUT_S = 5
"""Ample for a hook of ours, which gives up by itself long before."""
EVENTS = (
    HookEvent("SessionStart", "start", "startup|resume|clear|fork"),
    HookEvent("SessionStart", "compact", "compact"),
    HookEvent("UserPromptSubmit", "prompt"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("PreCompact", "flush"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def entry(server: Server) -> dict[str, Any]:
    """Return the server as Claude Code's own command writes it."""
    return {"type": "stdio", **stdio_entry(server)}


def handler(event: HookEvent, given: Given) -> Mapping[str, Any]:
    """Return the handler of one event; `timeout` is in seconds."""
    return claude_hook(given.commands[event.role], given, timeout=TIMEOUT_S)


def _add(given: Given) -> tuple[str, ...]:
    value = msgspec.json.encode(entry(given.server)).decode()
    return ("mcp", "add-json", "--scope", "user", SERVER, value)


INSTALL = Install(
    slug="claude",
    folders=(_FOLDER,),
    executables=("claude",),
    mcp=Mcp(
        file=mcp_file(FilePlace(Folder(("$CLAUDE_CONFIG_DIR", "~")), (".claude.json",)), entry=entry),
        command=McpCommand("claude", _add, ("mcp", "remove", "--scope", "user", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        ConfigFile(_SETTINGS, "json", claude_like_hooks(EVENTS, handler)),
        switches=(Switch(_SETTINGS, "json", ("disableAllHooks",), True),),
    ),
    skill=OwnFile(FilePlace(_FOLDER, (f"skills/{NAME}/SKILL.md",)), lambda given: skill_text(writes=given.writes)),
    native_memory=(
        NativeMemory(
            name="auto memory",
            place=_SETTINGS,
            format="json",
            path=("autoMemoryEnabled",),
            off=False,
            default_on=True,
            line='"autoMemoryEnabled": false',
            variable="CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        ),
    ),
    plugins=Plugins(_SETTINGS, "json", ("enabledPlugins",)),
    steps=("Sessions that are open go on without Recollect; start a new one.",),
    verified_version="2.1.240",
    sources=(
        Source("places, form and events of hooks", "https://code.claude.com/docs/en/hooks", "2026-08-22"),
        Source("servers of the user, `claude mcp add-json`", "https://code.claude.com/docs/en/mcp", "2026-08-22"),
        Source("skills of the user", "https://code.claude.com/docs/en/skills", "2026-08-22"),
        Source("auto memory and what turns it off", "https://code.claude.com/docs/en/memory", "2026-08-22"),
    ),
)
