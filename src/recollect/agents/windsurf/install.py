"""Windsurf: what `recollect setup` writes below `~/.codeium/windsurf`: servers, hooks and a skill of the user.

Its hooks tell what Cascade did and may hold an action up (exit code 2); none of them can give it context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    Install,
    InstallContext,
    Mcp,
    read_on,
)
from recollect.agents.install.shapes import flat_hooks, hook_text, mcp_file, skill_file

_FOLDER = Folder(("~/.codeium/windsurf",))
EVENTS = (
    HookEvent("pre_user_prompt", "spool"),
    HookEvent("post_read_code", "spool"),
    HookEvent("post_write_code", "spool"),
    HookEvent("post_run_command", "spool"),
    HookEvent("post_mcp_tool_use", "spool"),
    HookEvent("post_cascade_response", "spool"),
)
"""Cascade has no event for the start or the end of a session; a trajectory begins with its first prompt."""


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    return {"command": hook_text(given.commands[event.role], given), "show_output": False}


INSTALL = Install(
    slug="windsurf",
    folders=(_FOLDER,),
    executables=("windsurf",),
    mcp=Mcp(file=mcp_file(FilePlace(_FOLDER, ("mcp_config.json",)))),
    hooks=Hooks(
        EVENTS,
        ConfigFile(FilePlace(_FOLDER, ("hooks.json",)), "json", flat_hooks(EVENTS, _handler)),
        note="Cascade takes no context from a hook; what is remembered reaches it through the tools and the skill.",
    ),
    skill=skill_file(_FOLDER),
    steps=(
        "Press Refresh in the MCP panel of Cascade, or start Windsurf again.",
        "Cascade makes memories of its own; the switch is in its settings only (Cascade, Auto-generate memories).",
    ),
    is_graphical=True,
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "places, events and form of hooks": "https://docs.windsurf.com/windsurf/cascade/hooks",
            "servers of the user": "https://docs.windsurf.com/windsurf/cascade/mcp",
            "skills of the user": "https://docs.windsurf.com/windsurf/cascade/skills",
            "memories of Cascade": "https://docs.windsurf.com/windsurf/cascade/memories",
        },
    ),
)
