"""Cursor, the editor and its command line, which share `~/.cursor`: servers, hooks and skills of the user.

Of what hooks print Cursor takes `additional_context` at the start of a session. The command line gives it to the model;
the editor may drop it, because the hook and the first request race (Cursor knows of it). A prompt takes no context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import (
    ConfigFile,
    CrossRead,
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

_FOLDER = Folder(("~/.cursor",))
_TIMEOUT_S = 5
EVENTS = (
    HookEvent("sessionStart", "start"),
    HookEvent("beforeSubmitPrompt", "spool"),
    HookEvent("postToolUse", "spool"),
    HookEvent("postToolUseFailure", "spool"),
    HookEvent("afterAgentResponse", "spool"),
    HookEvent("preCompact", "flush"),
    HookEvent("subagentStop", "spool"),
    HookEvent("stop", "spool"),
    HookEvent("sessionEnd", "end"),
)
"""Not the events for single tools (`afterShellExecution`, `afterMCPExecution`, `afterFileEdit`): `postToolUse` fires
for every tool, and a call would be told twice."""


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    return {"command": hook_text(given.commands[event.role], given), "timeout": _TIMEOUT_S}


INSTALL = Install(
    slug="cursor",
    folders=(_FOLDER,),
    executables=("cursor-agent", "cursor"),
    mcp=Mcp(file=mcp_file(FilePlace(_FOLDER, ("mcp.json",)))),
    hooks=Hooks(
        EVENTS,
        ConfigFile(FilePlace(_FOLDER, ("hooks.json",)), "json", flat_hooks(EVENTS, _handler), frame={"version": 1}),
        note="The editor may drop what a hook gives at the start of a session; a prompt and a compaction take nothing.",
    ),
    skill=skill_file(_FOLDER),
    steps=("Cursor asks once whether the server `recollect` may run: allow it (Settings, MCP).",),
    cross_reads=(
        CrossRead(
            "claude",
            "With third-party hooks turned on in its settings, Cursor runs Claude Code's hooks too; Recollect tells "
            "them apart.",
        ),
    ),
    is_graphical=True,
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "events, form and answers of hooks": "https://cursor.com/docs/agent/hooks",
            "servers of the user": "https://cursor.com/docs/mcp",
            "skills of the user": "https://cursor.com/docs/skills",
            "the editor drops the context of sessionStart, the command line takes it": "https://github.com/colinsurprenant/director/issues/50",
        },
    ),
)
