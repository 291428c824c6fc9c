"""Generates the Claude Code plug-in from the same data that `recollect setup` writes.

For people who install plug-ins and want no `recollect setup`. A plug-in knows neither where the program is nor where
the memory is: it finds the program on the PATH, and the memory's home as the program does. Where the program is not
installed, every hook ends well and does nothing.
"""

import json
from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import HookEvent, Hooks, Program, spool_line
from recollect.agents.install.described import NAME, installs, skill_text
from recollect.model.own import SERVER
from recollect.paths import HOME_VARIABLE

_SLUG = "claude"
_TIMEOUT_S = 5
"""Ample for a hook of ours, which gives up by itself long before."""
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


def events() -> tuple[HookEvent, ...]:
    """Return the events that `recollect setup` registers hooks for."""
    registered = installs()[_SLUG].hooks
    return registered.events if isinstance(registered, Hooks) else ()


def command_of(event: HookEvent) -> str:
    """Return the shell line of an event. What needs no answer is kept without starting the program."""
    if event.role in ("spool", "prompt"):  # the same as `install` registers where context per prompt is off
        line = spool_line(Program("", "", "", _PLACE), _SLUG)
        return line.replace(f"d={_PLACE};", _HOME, 1)
    return f"command -v recollect >/dev/null 2>&1||exit 0;exec recollect hook {_SLUG} {event.role}"


def _hooks() -> Mapping[str, Any]:
    hooks: dict[str, list[Any]] = {}
    for event in events():
        matcher = {"matcher": event.matcher} if event.matcher else {}
        handler = {"type": "command", "command": command_of(event), "timeout": _TIMEOUT_S}
        hooks.setdefault(event.event, []).append({**matcher, "hooks": [handler]})
    return hooks


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
