"""Codex: what `recollect setup` writes. Servers in `config.toml`, hooks in `hooks.json` beside it.

The skill goes into the folder that Codex documents for it and shares with other agents.
Codex runs a hook only after the person allowed it in `/hooks`, and remembers that by a hash of its definition: our
commands hold no version, so that an update locks nothing. Events that an older Codex does not know are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    HookTrust,
    Install,
    InstallContext,
    Mcp,
    McpCommand,
    NativeMemory,
    Switch,
    read_on,
)
from recollect.agents.install.shapes import claude_like_hooks, hook_text, mcp_file, skill_file
from recollect.agents.install.values import value_at
from recollect.model.own import SERVER

_FOLDER = Folder(("$CODEX_HOME", "~/.codex"))
_CONFIG = FilePlace(_FOLDER, ("config.toml",))
_TIMEOUT_S = 5
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")
EVENTS = (
    HookEvent("SessionStart", "start", "startup|resume|clear"),
    HookEvent("SessionStart", "compact", "compact"),
    HookEvent("UserPromptSubmit", "prompt"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PreCompact", "flush"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    """Return the handler of one event; `timeout` is in seconds."""
    return {"type": "command", "command": hook_text(given.commands[event.role], given), "timeout": _TIMEOUT_S}


def is_allowed(config: Mapping[str, Any], path: str, event: str, number: int) -> bool:
    """Tell whether Codex keeps the hash of a hook that may run, in `hooks.state."FILE:session_start:GROUP:HANDLER"`."""
    label = _WORD_START.sub("_", event).lower()
    states = value_at(config, ("hooks", "state"))
    if not isinstance(states, Mapping):
        return False
    return bool(value_at(states, (f"{path}:{label}:{number}:0", "trusted_hash")))


def _add(given: InstallContext) -> tuple[str, ...]:
    env = [word for name, value in given.server.env.items() for word in ("--env", f"{name}={value}")]
    return ("mcp", "add", SERVER, *env, "--", given.server.command, *given.server.args)


INSTALL = Install(
    slug="codex",
    folders=(_FOLDER,),
    executables=("codex",),
    mcp=Mcp(
        file=mcp_file(_CONFIG, "toml", under=("mcp_servers",)),
        command=McpCommand("codex", _add, ("mcp", "remove", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        ConfigFile(FilePlace(_FOLDER, ("hooks.json",)), "json", claude_like_hooks(EVENTS, handler)),
        trust=HookTrust(
            place=_CONFIG,
            format="toml",
            allows=is_allowed,
            step="open Codex, type `/hooks` and allow the hooks of Recollect: Codex runs none of them before",
        ),
        switches=(Switch(_CONFIG, "toml", ("features", "hooks"), False),),
    ),
    skill=skill_file(Folder(("~/.agents",))),
    native_memory=(
        NativeMemory(
            name="memories",
            place=_CONFIG,
            format="toml",
            path=("features", "memories"),
            off=False,
            default_on=False,
            line="[features]\nmemories = false",
        ),
    ),
    verified_version="0.146",
    sources=read_on(
        "2026-11-21",
        {
            "places, form, events and review of hooks": "https://developers.openai.com/codex/hooks.md",
            "unknown events are passed over, unknown keys beside `hooks` are not": "https://github.com/openai/codex/blob/main/codex-rs/config/src/hook_config.rs",
            "`codex mcp add`, `[mcp_servers.NAME]`": "https://developers.openai.com/codex/mcp.md",
            "skills of the user": "https://developers.openai.com/codex/skills.md",
            "memories are off unless turned on": "https://developers.openai.com/codex/memories.md",
        },
    ),
)
