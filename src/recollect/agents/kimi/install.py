"""Kimi Code: what `recollect setup` writes. Servers in `mcp.json`, hooks as tables of `config.toml`.

A key that Kimi does not know in a hook's table makes it refuse the whole file: only the four documented ones are
written. Only what a hook prints at a prompt reaches the model; at the start of a session it is not read.
"""

from __future__ import annotations

from recollect.agents.install.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    Install,
    InstallContext,
    Mcp,
    read_on,
)
from recollect.agents.install.shapes import hook_text, mcp_file, skill_file
from recollect.agents.install.values import AppendItem, Edit

_FOLDER = Folder(("$KIMI_CODE_HOME", "~/.kimi-code", "~/.kimi"))
_TIMEOUT_S = 5
EVENTS = (
    HookEvent("SessionStart", "spool"),
    HookEvent("UserPromptSubmit", "prompt"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("PreCompact", "spool"),
    HookEvent("SubagentStop", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def _edits(given: InstallContext) -> tuple[Edit, ...]:
    return tuple(
        AppendItem(
            ("hooks",),
            {
                "event": event.event,
                "command": hook_text(given.commands[event.role], given),
                "timeout": _TIMEOUT_S,
            },
        )
        for event in EVENTS
    )


INSTALL = Install(
    slug="kimi",
    folders=(_FOLDER,),
    executables=("kimi",),
    mcp=Mcp(file=mcp_file(FilePlace(_FOLDER, ("mcp.json",)))),
    hooks=Hooks(
        EVENTS,
        ConfigFile(FilePlace(_FOLDER, ("config.toml",)), "toml", _edits),
        note=(
            "Kimi Code reads a hook's context at a prompt only: without `per_prompt` in [context] of our configuration "
            "what is remembered reaches it through the tools and the skill."
        ),
    ),
    skill=skill_file(_FOLDER),
    steps=("A session that is open goes on without the new server; start a new one, then look into `/mcp`.",),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "tables, fields and events of hooks; what of their output is read": "https://github.com/MoonshotAI/kimi-code/blob/main/docs/en/customization/hooks.md",
            "`mcp.json` of the user; servers are added in the terminal's `/mcp-config`, there is no command": "https://github.com/MoonshotAI/kimi-code/blob/main/docs/en/customization/mcp.md",
            "skills of the user": "https://github.com/MoonshotAI/kimi-code/blob/main/docs/en/customization/skills.md",
        },
    ),
)
