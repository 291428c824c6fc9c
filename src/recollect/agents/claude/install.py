"""Claude Code: what `recollect setup` writes, and the same as a plug-in.

Settings, hooks and skills are below its configuration folder; the servers of the user are in `.claude.json` beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

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
    Plugins,
    Program,
    Server,
    Switch,
    read_on,
    spool_line,
)
from recollect.agents.install.shapes import (
    NAME,
    claude_hook,
    claude_like_hooks,
    mcp_file,
    skill_file,
    skill_text,
    stdio_entry,
)
from recollect.model.own import SERVER
from recollect.paths import HOME_VARIABLE

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


def handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    """Return the handler of one event; `timeout` is in seconds."""
    return claude_hook(given.commands[event.role], given, timeout=TIMEOUT_S)


def _add(given: InstallContext) -> tuple[str, ...]:
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
    skill=skill_file(_FOLDER),
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
    sources=read_on(
        "2026-08-22",
        {
            "places, form and events of hooks": "https://code.claude.com/docs/en/hooks",
            "servers of the user, `claude mcp add-json`": "https://code.claude.com/docs/en/mcp",
            "skills of the user": "https://code.claude.com/docs/en/skills",
            "auto memory and what turns it off": "https://code.claude.com/docs/en/memory",
        },
    ),
)


# Recollect as a plug-in of Claude Code: its files, made of the same data as `install`.
#
# For people who install plug-ins and want no `recollect setup`. A plug-in knows neither where the program is nor where
# the memory is: it finds the program on the PATH, and the memory's home as the program does. Where the program is not
# installed, every hook ends well and does nothing.

DESCRIPTION = "The memory of coding agents: search what was done, decided and fixed before, in every agent's history."
FOLDER = "plugins/claude-code"
_PLACE = "SPOOL"
_MAC = '"$HOME/Library/Application Support"'
_HOME = (
    f"r=${HOME_VARIABLE};"
    f'[ "$r" ]||{{ [ -d {_MAC} ]&&r={_MAC}/recollect||r=${{XDG_DATA_HOME:-$HOME/.local/share}}/recollect;}};'
    "d=$r/spool;"
)
"""The memory's home as `paths.home_dir` has it, in a POSIX shell. On Windows the variable must be set."""


def plugin_files(version: str) -> dict[str, str]:
    """Return the text of every file by its path in the repository: the marketplace's and the plug-in's."""
    plugin = {"name": SERVER, "description": DESCRIPTION, "version": version, "license": "Apache-2.0"}
    entry = {"name": SERVER, "source": f"./{FOLDER}", "description": DESCRIPTION}
    marketplace = {"name": SERVER, "owner": {"name": "The Recollect maintainers"}, "plugins": [entry]}
    servers = {"mcpServers": {SERVER: {"command": "recollect", "args": ["mcp"]}}}
    return {
        ".claude-plugin/marketplace.json": _json(marketplace),
        f"{FOLDER}/.claude-plugin/plugin.json": _json(plugin),
        f"{FOLDER}/.mcp.json": _json(servers),
        f"{FOLDER}/hooks/hooks.json": _json({"description": DESCRIPTION, "hooks": _hooks()}),
        f"{FOLDER}/skills/{NAME}/SKILL.md": skill_text(),
    }


def command_of(event: HookEvent) -> str:
    """Return the shell line of an event. What needs no answer is kept without starting the program."""
    if event.role in ("spool", "prompt"):  # the same as `install` registers where context per prompt is off
        line = spool_line(Program("", "", "", _PLACE), INSTALL.slug)
        return line.replace(f"d={_PLACE};", _HOME, 1)
    return f"command -v recollect >/dev/null 2>&1||exit 0;exec recollect hook {INSTALL.slug} {event.role}"


def _hooks() -> Mapping[str, Any]:
    hooks: dict[str, list[Any]] = {}
    for event in EVENTS:
        matcher = {"matcher": event.matcher} if event.matcher else {}
        handler = {"type": "command", "command": command_of(event), "timeout": TIMEOUT_S}
        hooks.setdefault(event.event, []).append({**matcher, "hooks": [handler]})
    return hooks


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
