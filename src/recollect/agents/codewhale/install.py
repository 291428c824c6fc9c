"""CodeWhale: what `recollect setup` writes below `~/.codewhale` (`~/.deepseek` of its earlier name): a server, a skill.

Its hooks are left alone. They carry an id that the program makes at each start (`sess_…`) and that the saved session
does not have, so what they tell could not be put together with the session and would be remembered twice.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.installing.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    Given,
    Install,
    Mcp,
    McpCommand,
    NativeMemory,
    OwnFile,
    Server,
    Source,
    Unsupported,
)
from recollect.agents.installing.editing.edits import Edit, SetKey
from recollect.agents.installing.skills import NAME, skill_text
from recollect.model.own import SERVER

_FOLDER = Folder(("$CODEWHALE_HOME", "~/.codewhale", "~/.deepseek"))


def _entry(server: Server) -> dict[str, Any]:
    return {"command": server.command, "args": list(server.args), "env": dict(server.env), "enabled": True}


def _edits(given: Given) -> tuple[Edit, ...]:
    return (SetKey(("servers", SERVER), _entry(given.server)),)


def _add(given: Given) -> tuple[str, ...]:
    if given.server.env:
        return ()
    arguments = [word for argument in given.server.args for word in ("--arg", argument)]
    return ("mcp", "add", SERVER, "--command", given.server.command, *arguments)


INSTALL = Install(
    slug="codewhale",
    folders=(_FOLDER,),
    executables=("codewhale", "codew"),
    mcp=Mcp(
        file=ConfigFile(FilePlace(_FOLDER, ("mcp.json",)), "json", _edits, other_names={"servers": "mcpServers"}),
        command=McpCommand("codewhale", _add, ("mcp", "remove", SERVER)),
    ),
    hooks=Unsupported(
        "CodeWhale's hooks name a session by an id of their own, not by that of the saved session: what they tell "
        "would be remembered twice. They give no context at a start either. Saved sessions are read as they are."
    ),
    skill=OwnFile(FilePlace(_FOLDER, (f"skills/{NAME}/SKILL.md",)), lambda given: skill_text(writes=given.writes)),
    native_memory=(
        NativeMemory(
            name="the user memory",
            place=FilePlace(_FOLDER, ("config.toml",)),
            format="toml",
            path=("memory", "enabled"),
            off=False,
            default_on=False,
            line="[memory]\nenabled = false",
        ),
    ),
    steps=("In a session that is open, `/mcp reload` takes the server in.",),
    verified_version="0.9.10",
    sources=(
        Source(
            "`codewhale mcp add`, place and form of servers",
            "https://github.com/Hmbown/CodeWhale/blob/main/docs/MCP.md",
            "2026-11-21",
        ),
        Source(
            "events and payloads of hooks, their session id",
            "https://github.com/Hmbown/CodeWhale/blob/main/docs/HOOKS.md",
            "2026-11-21",
        ),
        Source("skills of the user", "https://github.com/Hmbown/CodeWhale/blob/main/docs/SKILLS.md", "2026-11-21"),
        Source(
            "user memory, off by default", "https://github.com/Hmbown/CodeWhale/blob/main/docs/MEMORY.md", "2026-11-21"
        ),
    ),
)
