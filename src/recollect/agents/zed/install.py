"""Zed: what `recollect setup` writes. Servers stand in its settings, which have comments; skills in the folder that
several agents share. Zed has no hooks and no memory of its own."""

from __future__ import annotations

from typing import Any

from recollect.agents.install.contract import (
    FilePlace,
    Folder,
    Install,
    Mcp,
    OwnFile,
    Server,
    Unsupported,
    read_on,
)
from recollect.agents.install.shapes import NAME, mcp_file, skill_text

_FOLDER = Folder(
    ("$XDG_CONFIG_HOME/zed", "~/.config/zed", "~/.var/app/dev.zed.Zed/config/zed"),
    macos=("~/.config/zed",),
    windows=("$APPDATA/Zed",),
)


def _entry(server: Server) -> dict[str, Any]:
    # `source` is what tells a server of the user from one of an extension; newer versions no longer ask for it.
    return {"source": "custom", "command": server.command, "args": list(server.args), "env": dict(server.env)}


INSTALL = Install(
    slug="zed",
    folders=(_FOLDER,),
    executables=("zed", "zeditor"),
    mcp=Mcp(file=mcp_file(FilePlace(_FOLDER, ("settings.json",)), "jsonc", under=("context_servers",), entry=_entry)),
    hooks=Unsupported(
        "Zed has no hooks. Its threads are read from its database; context comes through the tools only."
    ),
    skill=OwnFile(
        FilePlace(Folder(("~/.agents/skills",)), (f"{NAME}/SKILL.md",)), lambda given: skill_text(writes=given.writes)
    ),
    steps=(
        "Zed shows a green dot beside `recollect` in the settings of its agent panel once the server runs.",
        "Other agents that read `~/.agents/skills` will find the skill too.",
    ),
    is_graphical=True,
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "servers of the user in `settings.json`": "https://zed.dev/docs/ai/mcp",
            "skills below `~/.agents/skills`, nowhere else": "https://zed.dev/docs/ai/skills",
            "where `settings.json` is": "https://zed.dev/docs/configuring-zed",
        },
    ),
)
