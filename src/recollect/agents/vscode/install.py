"""Copilot Chat in VS Code: what `recollect setup` writes. Servers are in the folder of the user's profile; hooks and
skills of the user are in `~/.copilot`, which Copilot CLI reads too (see `recollect.agents.copilot.install`)."""

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
    NativeMemory,
    OwnFile,
    Server,
    read_on,
)
from recollect.agents.install.shapes import (
    flat_hooks,
    hook_text,
    hooks_document,
    mcp_file,
    skill_file,
    stdio_entry,
)

_HOSTS = ("Code", "Code - Insiders", "VSCodium")
_FOLDER = Folder(
    ("$XDG_CONFIG_HOME/Code/User", *(f"~/.config/{host}/User" for host in _HOSTS)),
    macos=tuple(f"~/Library/Application Support/{host}/User" for host in _HOSTS),
    windows=("$APPDATA/Code/User",),
)
_COPILOT = Folder(("~/.copilot",))
_TIMEOUT_S = 5
_NOTHING = "exit 0"
_KEYS = {"linux": ("linux", "bash"), "macos": ("osx", "bash"), "windows": ("windows", "powershell")}
"""The name of a command that VS Code takes first on a platform, and the one that Copilot CLI takes there."""
EVENTS = (
    HookEvent("SessionStart", "start"),
    HookEvent("UserPromptSubmit", "spool"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PreCompact", "flush"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
)


def _entry(server: Server) -> dict[str, Any]:
    return {"type": "stdio", **stdio_entry(server)}


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    ours, theirs = _KEYS[given.platform]
    text = hook_text(given.commands[event.role], given)
    return {"type": "command", ours: text, theirs: _NOTHING, "timeout": _TIMEOUT_S}


INSTALL = Install(
    slug="vscode",
    folders=(_FOLDER,),
    executables=("code", "code-insiders", "codium"),
    version_args=(),
    mcp=Mcp(file=mcp_file(FilePlace(_FOLDER, ("mcp.json",)), "jsonc", under=("servers",), entry=_entry)),
    hooks=Hooks(
        EVENTS,
        OwnFile(
            FilePlace(_COPILOT, ("hooks/recollect-vscode.json",)),
            hooks_document(flat_hooks(EVENTS, _handler), version=1),
        ),
        note="A prompt and a compaction take no context. Hooks are a preview that an organisation may have turned off.",
    ),
    skill=skill_file(_COPILOT),
    native_memory=(
        NativeMemory(
            name="the memory tool",
            place=FilePlace(_FOLDER, ("settings.json",)),
            format="jsonc",
            path=("github.copilot.chat.tools.memory.enabled",),
            off=False,
            default_on=True,
            line='"github.copilot.chat.tools.memory.enabled": false',
        ),
    ),
    steps=(
        "VS Code asks once whether it may trust the server `recollect`; it starts when a chat first needs it "
        "(command: MCP: List Servers).",
        "Only the default profile, and the first of Code, Code - Insiders and VSCodium that is there, is set up.",
    ),
    cross_reads=(
        CrossRead(
            "claude",
            'VS Code runs the hooks of Claude Code\'s settings too. `"chat.hookFilesLocations": '
            '{"~/.claude/settings.json": false}` in its settings stops that.',
        ),
    ),
    is_graphical=True,
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "places, events, form and answers of hooks": "https://code.visualstudio.com/docs/agent-customization/hooks",
            "a command for the platform is taken before `bash` and `powershell`": "https://github.com/microsoft/vscode/blob/main/src/vs/workbench/contrib/chat/common/promptSyntax/hookSchema.ts",
            "servers of the user": "https://code.visualstudio.com/docs/copilot/customization/mcp-servers",
            "skills of the user": "https://code.visualstudio.com/docs/copilot/customization/agent-skills",
            "the memory tool": "https://code.visualstudio.com/docs/copilot/agents/memory",
        },
    ),
)
