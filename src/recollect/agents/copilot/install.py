"""GitHub Copilot CLI: what `recollect setup` writes below `~/.copilot`.

VS Code reads the same folder of hooks and takes a command of its own platform before `bash` and `powershell`. So a file
of ours says `exit 0` under the names that only VS Code reads, and that of VS Code the other way round: each event is
told once, by the one it happened in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.agents.install.contract import (
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    Install,
    InstallContext,
    Mcp,
    McpCommand,
    OwnFile,
    Server,
    read_on,
)
from recollect.agents.install.shapes import (
    flat_hooks,
    hooks_document,
    mcp_file,
    powershell_text,
    skill_file,
    stdio_entry,
)
from recollect.model.own import SERVER

_FOLDER = Folder(("$COPILOT_HOME", "~/.copilot"))
_USED = Folder(("$COPILOT_HOME/session-state", "~/.copilot/session-state"))
"""The folder alone does not mean the command line is there: VS Code reads hooks and skills in it."""
_TIMEOUT_S = 5
_NOTHING = "exit 0"
EVENTS = (
    HookEvent("SessionStart", "start"),
    HookEvent("UserPromptSubmit", "spool"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("PreCompact", "spool"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)
"""In this spelling the payload names its event and its fields are as in Claude Code; in the other (`sessionStart`) it
does not say which event it is."""


def _entry(server: Server) -> dict[str, Any]:
    return {"type": "local", **stdio_entry(server), "tools": ["*"]}


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    command = given.commands[event.role]
    if given.platform == "windows":
        return {
            "type": "command",
            "powershell": powershell_text(command),
            "windows": _NOTHING,
            "timeoutSec": _TIMEOUT_S,
        }
    return {"type": "command", "bash": command.line, "linux": _NOTHING, "osx": _NOTHING, "timeoutSec": _TIMEOUT_S}


def _add(given: InstallContext) -> tuple[str, ...]:
    variables = [word for name, value in given.server.env.items() for word in ("--env", f"{name}={value}")]
    return ("mcp", "add", SERVER, *variables, "--tools", "*", "--", given.server.command, *given.server.args)


INSTALL = Install(
    slug="copilot",
    folders=(_USED,),
    executables=("copilot",),
    mcp=Mcp(
        file=mcp_file(FilePlace(_FOLDER, ("mcp-config.json",)), entry=_entry),
        command=McpCommand("copilot", _add, ("mcp", "remove", SERVER)),
    ),
    hooks=Hooks(
        EVENTS,
        OwnFile(FilePlace(_FOLDER, ("hooks/recollect.json",)), hooks_document(flat_hooks(EVENTS, _handler), version=1)),
        note="A prompt and a compaction take no context; the start of a session does since 1.0.11. Of several hooks "
        "that give some there, Copilot CLI takes the last one's only.",
    ),
    skill=skill_file(_FOLDER),
    steps=(
        "Hooks are read when the command line starts: start it again.",
        "Copilot Memory is kept by GitHub, per repository, and is turned on and off in your settings there.",
    ),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "places, events, form and answers of hooks": "https://docs.github.com/en/copilot/reference/hooks-reference",
            "`mcp-config.json`, `skills/`, `COPILOT_HOME`": "https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-config-dir-reference",
            "form of a server": "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
            "the context of a session's start is taken since 1.0.11, as `additionalContext` and nothing around it": "https://github.com/obra/superpowers/pull/910",
            "of several hooks the last one's context is taken only": "https://github.com/github/copilot-cli/issues/3589",
        },
    ),
)
