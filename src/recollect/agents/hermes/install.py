"""Hermes Agent: what `recollect setup` writes. Server and hooks stand in `config.yaml`, skills in a folder beside it.

Hermes runs a hook without a shell, and only after the person agreed to it. The one event whose answer reaches the model
is `pre_llm_call`. It is left alone: before every turn it carries the whole conversation again, and what a long session
kept of it would grow with the square of its length.
"""

from __future__ import annotations

import shlex
import subprocess
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
    NativeMemory,
    read_on,
)
from recollect.agents.install.shapes import flat_hooks, mcp_file, skill_file
from recollect.model.own import SERVER

_FOLDER = Folder(("$HERMES_HOME", "~/.hermes"), windows=("$HERMES_HOME", "$LOCALAPPDATA/hermes"))
_CONFIG = FilePlace(_FOLDER, ("config.yaml",))
_TIMEOUT_S = 5
EVENTS = (
    HookEvent("on_session_start", "spool"),
    HookEvent("post_tool_call", "spool"),
    HookEvent("subagent_stop", "spool"),
    HookEvent("on_session_end", "spool"),
)
"""`on_session_end` comes after every turn."""


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    argv = given.commands[event.role].argv
    text = subprocess.list2cmdline(argv) if given.platform == "windows" else shlex.join(argv)
    return {"command": text, "timeout": _TIMEOUT_S}


def _allows(document: Mapping[str, Any], _path: str, event: str, _number: int) -> bool:
    """Tell whether a command of ours is approved for an event: it names our program and this agent."""
    approvals = document.get("approvals")
    return isinstance(approvals, list) and any(
        isinstance(one, Mapping)
        and one.get("event") == event
        and isinstance(command := one.get("command"), str)
        and SERVER in command
        and " hermes " in command
        for one in approvals
    )


def _memory(path: str, name: str) -> NativeMemory:
    return NativeMemory(
        name=name,
        place=_CONFIG,
        format="yaml",
        path=("memory", path),
        off=False,
        default_on=True,
        line=f"memory:\n  {path}: false",
    )


INSTALL = Install(
    slug="hermes",
    folders=(_FOLDER,),
    executables=("hermes",),
    mcp=Mcp(file=mcp_file(_CONFIG, "yaml", under=("mcp_servers",))),
    hooks=Hooks(
        EVENTS,
        ConfigFile(_CONFIG, "yaml", flat_hooks(EVENTS, _handler)),
        trust=HookTrust(
            place=FilePlace(_FOLDER, ("shell-hooks-allowlist.json",)),
            format="json",
            allows=_allows,
            step="Start `hermes` in a terminal once and agree to the hooks of Recollect; `hermes hooks list` shows "
            "them.",
        ),
        note="Hermes takes no context at a session's start; what is remembered reaches it through the tools and the "
        "skill.",
    ),
    skill=skill_file(_FOLDER),
    native_memory=(
        _memory("memory_enabled", "the file of notes (MEMORY.md)"),
        _memory("user_profile_enabled", "the user profile (USER.md)"),
    ),
    steps=(
        "Hermes reads its configuration when it starts: start it, and its gateway, again.",
        "Only the default profile is set up; for another one run this with HERMES_HOME set to its folder.",
    ),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "hooks: events, wire form, consent": "https://hermes-agent.nousresearch.com/docs/user-guide/features/hooks",
            "form and place of servers; `hermes mcp add` asks back, so the file is edited": "https://hermes-agent.nousresearch.com/docs/user-guide/features/mcp",
            "memory and what turns it off": "https://hermes-agent.nousresearch.com/docs/user-guide/features/memory",
        },
    ),
)
