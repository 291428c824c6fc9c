"""goose: what `recollect setup` writes. A server is an extension in `config.yaml`; hooks are a plugin of files.

goose finds a plugin by its folder and then lists it in `config.yaml` by itself. Its hooks tell; apart from holding up a
tool or a stop, what they print is read by nobody.
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
    NativeMemory,
    OwnFile,
    Server,
    read_on,
)
from recollect.agents.install.shapes import (
    claude_like_hooks,
    hook_text,
    hooks_document,
    mcp_file,
    skill_file,
)
from recollect.model.own import SERVER

_FOLDER = Folder(
    ("$GOOSE_PATH_ROOT/config", "$XDG_CONFIG_HOME/goose", "~/.config/goose"),
    macos=("$GOOSE_PATH_ROOT/config", "~/.config/goose"),
    windows=("$GOOSE_PATH_ROOT/config", "$APPDATA/Block/goose/config"),
)
_PLUGINS = Folder(("$GOOSE_PATH_ROOT/.agents/plugins", "~/.agents/plugins"))
_CONFIG = FilePlace(_FOLDER, ("config.yaml",))
_TIMEOUT_S = 5
_SERVER_TIMEOUT_S = 300
EVENTS = (
    HookEvent("SessionStart", "spool"),
    HookEvent("UserPromptSubmit", "spool"),
    HookEvent("PostToolUse", "spool"),
    HookEvent("PostToolUseFailure", "spool"),
    HookEvent("Stop", "spool"),
    HookEvent("SessionEnd", "end"),
)


def _entry(server: Server) -> dict[str, Any]:
    return {
        "enabled": True,
        "type": "stdio",
        "name": SERVER,
        "description": "What coding agents did before on this machine, read-only",
        "cmd": server.command,
        "args": list(server.args),
        "envs": dict(server.env),
        "env_keys": [],
        "timeout": _SERVER_TIMEOUT_S,
    }


def _handler(event: HookEvent, given: InstallContext) -> Mapping[str, Any]:
    return {"type": "command", "command": hook_text(given.commands[event.role], given), "timeout": _TIMEOUT_S}


INSTALL = Install(
    slug="goose",
    folders=(_FOLDER,),
    executables=("goose",),
    mcp=Mcp(file=mcp_file(_CONFIG, "yaml", under=("extensions",), entry=_entry)),
    hooks=Hooks(
        EVENTS,
        OwnFile(
            FilePlace(_PLUGINS, (f"{SERVER}/hooks/hooks.json",)), hooks_document(claude_like_hooks(EVENTS, _handler))
        ),
        note="goose takes no context from a hook; what is remembered reaches it through the tools and the skill.",
    ),
    skill=skill_file(_FOLDER),
    native_memory=(
        NativeMemory(
            name="the extension `memory`",
            place=_CONFIG,
            format="yaml",
            path=("extensions", "memory", "enabled"),
            off=False,
            default_on=False,
            line="extensions:\n  memory:\n    enabled: false",
        ),
    ),
    steps=("goose reads its configuration when it starts: start it again.",),
    is_graphical=True,
    verified_version="documentation of 2026-11",
    sources=read_on(
        "2026-11-21",
        {
            "`config.yaml`: place, form of an extension": "https://goose-docs.ai/docs/guides/config-files",
            "hooks of a plugin: place, events, what is read of their output": "https://goose-docs.ai/docs/guides/context-engineering/hooks",
            "a plugin is a folder with `hooks/hooks.json`, entered into `config.yaml` by goose": "https://github.com/block/goose/blob/main/crates/goose/src/plugins/discovery.rs",
            "skills in goose's configuration folder": "https://goose-docs.ai/docs/guides/context-engineering/using-skills",
        },
    ),
)
