"""Grok Build: what `recollect setup` writes. Servers in `config.toml`, hooks in a file of our own beside it.

Its hooks only tell: what they print reaches nobody, and a hook that is no `PreToolUse` cannot hold anything up.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import (
    CrossRead,
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    Install,
    InstallContext,
    Mcp,
    McpCommand,
    NativeMemory,
    OwnFile,
    read_on,
)
from recollect.agents.install.shapes import (
    claude_like_hooks,
    hook_text,
    hooks_document,
    mcp_file,
    skill_file,
)
from recollect.model.own import SERVER

_FOLDER = Folder(("$GROK_HOME", "~/.grok"))
_CONFIG = FilePlace(_FOLDER, ("config.toml",))
_TIMEOUT_S = 5
EVENTS = (
    HookEvent("SessionStart", "spool"),
    HookEvent("UserPromptSubmit", "spool"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("PreCompact", "spool"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    return {"type": "command", "command": hook_text(given.commands[event.role], given), "timeout": _TIMEOUT_S}


def _add(given: InstallContext) -> tuple[str, ...]:
    if given.server.env:
        return ()
    return ("mcp", "add", "--scope", "user", SERVER, "--", given.server.command, *given.server.args)


INSTALL = Install(
    slug="grok",
    folders=(_FOLDER,),
    executables=("grok",),
    mcp=Mcp(
        file=mcp_file(_CONFIG, "toml", under=("mcp_servers",)),
        command=McpCommand("grok", _add, ("mcp", "remove", "--scope", "user", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        OwnFile(FilePlace(_FOLDER, ("hooks/recollect.json",)), hooks_document(claude_like_hooks(EVENTS, _handler))),
        note="Grok Build takes no context from a hook; what is remembered reaches it through the tools and the skill.",
    ),
    skill=skill_file(_FOLDER),
    native_memory=(
        NativeMemory(
            name="the memory across sessions",
            place=_CONFIG,
            format="toml",
            path=("memory", "enabled"),
            off=False,
            default_on=False,
            line="[memory]\nenabled = false",
        ),
    ),
    steps=("Look into `/hooks` of Grok Build once: the hooks of `recollect.json` should be listed.",),
    cross_reads=(
        CrossRead("claude", "Grok Build runs the hooks of Claude Code's settings too; Recollect tells them apart."),
        CrossRead("cursor", "Grok Build runs the hooks of Cursor's `hooks.json` too; Recollect tells them apart."),
    ),
    verified_version="1.0.30",
    sources=read_on(
        "2026-11-21",
        {
            "`grok mcp add`, form and place of servers": "https://docs.x.ai/build/features/mcp-servers",
            "files, events and contract of hooks": "https://docs.x.ai/build/features/hooks",
            "what passive hooks print is thrown away; skills below the folder": "https://github.com/fujibee/agmsg/pull/216",
        },
    ),
)
