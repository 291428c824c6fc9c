"""pi: what `recollect setup` writes below `~/.pi/agent`: an extension of our own and a skill. pi has no MCP and no
memory of its own; its agent uses the command line instead, which the skill tells."""

from __future__ import annotations

from recollect.agents.install.contract import (
    FilePlace,
    Folder,
    HookEvent,
    Hooks,
    Install,
    OwnFile,
    Unsupported,
    read_on,
)
from recollect.agents.install.shapes import shim_text, skill_file

_FOLDER = Folder(("$PI_CODING_AGENT_DIR", "~/.pi/agent"))
EVENTS = (
    HookEvent("session_start", "start"),
    HookEvent("session_compact", "compact"),
    HookEvent("before_agent_start", "prompt"),
    HookEvent("tool_result", "spool"),
    HookEvent("agent_end", "spool"),
    HookEvent("session_shutdown", "spool"),
)

INSTALL = Install(
    slug="pi",
    folders=(_FOLDER,),
    executables=("pi",),
    mcp=Unsupported("pi has no MCP. Its agent asks the memory by the command `recollect search`, as the skill says."),
    hooks=Hooks(
        EVENTS,
        OwnFile(
            # pi looks for TypeScript; what is in the file is plain JavaScript.
            FilePlace(_FOLDER, ("extensions/recollect.ts",)),
            shim_text("pi", "recollect.agents.pi", "extension.js"),
        ),
    ),
    skill=skill_file(_FOLDER),
    steps=("In a session that is open, `/reload` takes the extension in.",),
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "extensions: places, events, messages that they may add": "https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/extensions.md",
            "skills of the user": "https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/skills.md",
        },
    ),
)
