"""Qwen Code: what `recollect setup` writes. Servers and hooks stand in one `settings.json`, which may hold comments."""

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
from recollect.agents.install.shapes import claude_like_hooks, hook_text, mcp_file, skill_file
from recollect.model.own import SERVER

_FOLDER = Folder(("~/.qwen",))
_SETTINGS = FilePlace(_FOLDER, ("settings.json",))
_TIMEOUT = 5000
"""Milliseconds by the page on hooks; read as seconds, as another page has it, it is still no harm."""
EVENTS = (
    HookEvent("SessionStart", "start", "startup|resume|clear"),
    HookEvent("SessionStart", "compact", "compact"),
    HookEvent("UserPromptSubmit", "prompt"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("PreCompact", "flush"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    """Return the handler of one event."""
    text = hook_text(given.commands[event.role], given)
    return {"type": "command", "name": SERVER, "command": text, "timeout": _TIMEOUT}


def _add(given: InstallContext) -> tuple[str, ...]:
    env = [word for name, value in given.server.env.items() for word in ("--env", f"{name}={value}")]
    return ("mcp", "add", *env, "--scope", "user", SERVER, given.server.command, *given.server.args)


INSTALL = Install(
    slug="qwen",
    folders=(_FOLDER,),
    executables=("qwen",),
    mcp=Mcp(
        file=mcp_file(_SETTINGS, "jsonc"),
        command=McpCommand("qwen", _add, ("mcp", "remove", "--scope", "user", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        ConfigFile(_SETTINGS, "jsonc", claude_like_hooks(EVENTS, handler)),
        switches=(Switch(_SETTINGS, "jsonc", ("disableAllHooks",), True),),
    ),
    skill=skill_file(_FOLDER),
    native_memory=(
        NativeMemory(
            name="auto-memory",
            place=_SETTINGS,
            format="jsonc",
            path=("memory", "enableManagedAutoMemory"),
            off=False,
            default_on=True,
            line='"memory": { "enableManagedAutoMemory": false }',
        ),
    ),
    steps=("Qwen Code reads its settings when it starts: start it again, then look into `/hooks` and `/mcp`.",),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "form and events of hooks": "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/hooks.md",
            "`qwen mcp add`, `mcpServers`, scopes": "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md",
            "skills of the user": "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/skills.md",
            "auto-memory is on unless turned off": "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/memory.md",
        },
    ),
)
