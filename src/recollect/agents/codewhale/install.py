"""CodeWhale: what `recollect setup` writes below `~/.codewhale` (`~/.deepseek` of its earlier name): a server, a skill.

Its hooks are left alone. They carry an id that the program makes at each start (`sess_…`) and that the saved session
does not have, so what they tell could not be put together with the session and would be remembered twice.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.install.contract import (
    ConfigFile,
    FilePlace,
    Folder,
    Install,
    InstallContext,
    Mcp,
    McpCommand,
    NativeMemory,
    Server,
    Unsupported,
    read_on,
)
from recollect.agents.install.shapes import skill_file
from recollect.agents.install.values import Edit, SetKey
from recollect.model.own import SERVER

_FOLDER = Folder(("$CODEWHALE_HOME", "~/.codewhale", "~/.deepseek"))


def _entry(server: Server) -> dict[str, Any]:
    return {"command": server.command, "args": list(server.args), "env": dict(server.env), "enabled": True}


def _edits(given: InstallContext) -> tuple[Edit, ...]:
    return (SetKey(("servers", SERVER), _entry(given.server)),)


def _add(given: InstallContext) -> tuple[str, ...]:
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
    skill=skill_file(_FOLDER),
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
    sources=read_on(
        "2026-11-21",
        {
            "`codewhale mcp add`, place and form of servers": "https://github.com/Hmbown/CodeWhale/blob/main/docs/MCP.md",
            "events and payloads of hooks, their session id": "https://github.com/Hmbown/CodeWhale/blob/main/docs/HOOKS.md",
            "skills of the user": "https://github.com/Hmbown/CodeWhale/blob/main/docs/SKILLS.md",
            "user memory, off by default": "https://github.com/Hmbown/CodeWhale/blob/main/docs/MEMORY.md",
        },
    ),
)
