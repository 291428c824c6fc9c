"""Qwen Code: what `recollect setup` writes. Servers and hooks stand in one `settings.json`, which may hold comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    Source,
    Switch,
)
from recollect.agents.installing.shapes import claude_like_hooks, hook_text, mcp_file
from recollect.agents.installing.skills import NAME, skill_text
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


def handler(event: HookEvent, given: Given) -> Mapping[str, Any]:
    """Return the handler of one event."""
    text = hook_text(given.commands[event.role], given)
    return {"type": "command", "name": SERVER, "command": text, "timeout": _TIMEOUT}


def _add(given: Given) -> tuple[str, ...]:
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
    skill=OwnFile(FilePlace(_FOLDER, (f"skills/{NAME}/SKILL.md",)), lambda given: skill_text(writes=given.writes)),
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
    sources=(
        Source(
            "form and events of hooks",
            "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/hooks.md",
            "2026-11-21",
        ),
        Source(
            "`qwen mcp add`, `mcpServers`, scopes",
            "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md",
            "2026-11-21",
        ),
        Source(
            "skills of the user",
            "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/skills.md",
            "2026-11-21",
        ),
        Source(
            "auto-memory is on unless turned off",
            "https://github.com/QwenLM/qwen-code/blob/main/docs/users/features/memory.md",
            "2026-11-21",
        ),
    ),
)
