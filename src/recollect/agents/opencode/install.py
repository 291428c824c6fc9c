"""opencode 1 and 2: what `recollect setup` writes below `~/.config/opencode`: a server in the configuration, a plugin
of our own, a skill.

opencode 2 reads the configuration of opencode 1 too, and both forms of servers in one file; for it the entry is written
in its own form. The plugin's file serves both. Without it opencode has no hooks.
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
    OwnFile,
    read_on,
)
from recollect.agents.install.shapes import shim_text, skill_file
from recollect.agents.install.values import Edit, SetKey
from recollect.model.own import SERVER

_FOLDER = Folder(("$XDG_CONFIG_HOME/opencode", "~/.config/opencode"))
_CONFIG = FilePlace(_FOLDER, ("opencode.jsonc", "opencode.json"))
EVENTS = (
    HookEvent("session.created", "start"),
    HookEvent("session.compacted", "compact"),
    HookEvent("chat.message", "prompt"),
    HookEvent("tool.execute.after", "spool"),
    HookEvent("session.idle", "spool"),
    HookEvent("session.deleted", "spool"),
)
"""As opencode 1 names them; the plugin hears the same of opencode 2 (`session.compaction.ended`, `prompt`)."""


def _edits(given: InstallContext) -> tuple[Edit, ...]:
    server = given.server
    entry: dict[str, object] = {"type": "local", "command": [server.command, *server.args]}
    if server.env:
        entry["environment"] = dict(server.env)
    if is_second(given.version):
        return (SetKey(("mcp", "servers", SERVER), entry),)
    return (SetKey(("mcp", SERVER), {**entry, "enabled": True}),)


def is_second(version: str) -> bool:
    """Tell whether a version as opencode prints it is of opencode 2 or later; one that is not known counts as 1, whose
    form both read."""
    major = version.strip().lstrip("v").partition(".")[0]
    return major.isdigit() and int(major) >= 2


INSTALL = Install(
    slug="opencode",
    folders=(_FOLDER,),
    executables=("opencode", "opencode2"),
    mcp=Mcp(file=ConfigFile(_CONFIG, "jsonc", _edits, frame={"$schema": "https://opencode.ai/config.json"})),
    hooks=Hooks(
        EVENTS,
        OwnFile(
            FilePlace(_FOLDER, ("plugins/recollect.js",)),
            shim_text("opencode", "recollect.agents.opencode", "plugin.js"),
        ),
        note="opencode has no event for the end of a session. A failed tool is told by opencode 2 only; the transcript "
        "has it in any case.",
    ),
    skill=skill_file(_FOLDER),
    steps=("opencode loads plugins and servers when it starts: start it again.",),
    depends_on_version=True,
    verified_version="1.18.34 and 2.0.18",
    sources=read_on(
        "2026-11-21",
        {
            "places of configuration and plugins, events of opencode 1": "https://opencode.ai/v1/docs/plugins/",
            "what opencode 2 reads of opencode 1; servers in both forms": "https://opencode.ai/docs/migrate-v1/",
            "plugins of opencode 2: `setup`, hooks of sessions and tools": "https://github.com/anomalyco/opencode/tree/dev/packages/plugin/src/promise",
            "one default export with `id`, `server` and `setup` is loaded by both": "https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/plugin/shared.ts",
            "skills of the user": "https://opencode.ai/v1/docs/skills/",
        },
    ),
)
