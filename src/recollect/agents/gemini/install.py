"""Gemini CLI: what `recollect setup` writes. Servers and hooks stand in one `settings.json`, which may hold comments.

Its hooks must print one JSON object or nothing; their time limit is in milliseconds.
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
    McpCommand,
    NativeMemory,
    Switch,
    read_on,
)
from recollect.agents.install.shapes import claude_like_hooks, mcp_file, powershell_text, skill_file
from recollect.model.own import SERVER

_FOLDER = Folder(("$GEMINI_CLI_HOME/.gemini", "~/.gemini"))
_SETTINGS = FilePlace(_FOLDER, ("settings.json",))
_TIMEOUT_MS = 5000
EVENTS = (
    HookEvent("SessionStart", "start"),
    HookEvent("BeforeAgent", "prompt"),
    HookEvent("AfterTool", "spool"),
    HookEvent("AfterAgent", "spool"),
    HookEvent("PreCompress", "flush"),
    HookEvent("SessionEnd", "end"),
)


def handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    """Return the handler of one event. On Windows hooks run in PowerShell."""
    command = given.commands[event.role]
    text = powershell_text(command) if given.platform == "windows" else command.line
    return {"type": "command", "name": f"{SERVER}-{event.event}", "command": text, "timeout": _TIMEOUT_MS}


def _add(given: InstallContext) -> tuple[str, ...]:
    env = [word for name, value in given.server.env.items() for word in ("--env", f"{name}={value}")]
    return ("mcp", "add", *env, "--scope", "user", SERVER, given.server.command, *given.server.args)


INSTALL = Install(
    slug="gemini",
    folders=(_FOLDER,),
    executables=("gemini",),
    mcp=Mcp(
        file=mcp_file(_SETTINGS, "jsonc"),
        command=McpCommand("gemini", _add, ("mcp", "remove", "--scope", "user", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        ConfigFile(_SETTINGS, "jsonc", claude_like_hooks(EVENTS, handler)),
        note="Gemini CLI has no event after a compression: what it dropped comes back with the next session.",
        switches=(Switch(_SETTINGS, "jsonc", ("hooksConfig", "enabled"), False),),
    ),
    skill=skill_file(Folder(("~/.agents",))),
    native_memory=(
        NativeMemory(
            name="Auto Memory (experimental)",
            place=_SETTINGS,
            format="jsonc",
            path=("experimental", "autoMemory"),
            off=False,
            default_on=False,
            line='"experimental": { "autoMemory": false }',
        ),
    ),
    steps=("Gemini CLI reads its settings when it starts: start it again, then look into `/hooks` and `/mcp`.",),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "form, events and time limits of hooks": "https://geminicli.com/docs/hooks/reference.md",
            "`gemini mcp add`, `mcpServers`": "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
            "skills of the user, also in `~/.agents/skills`": "https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/skills.md",
            "Auto Memory is off unless turned on": "https://github.com/google-gemini/gemini-cli/blob/main/docs/cli/auto-memory.md",
        },
    ),
)
